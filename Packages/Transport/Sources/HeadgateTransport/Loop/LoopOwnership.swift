import Synchronization

/// The ownership of a loop while its thread is busy with other work. The thread has the loop again when it comes back,
/// unless another thread has taken the loop over meanwhile.
///
/// A single atomic word orders the accesses: a thread that takes the loop over sees everything that was done before the
/// other thread went away.
final class LoopOwnership: Sendable {
    /// Twice the number of takeovers, plus one while the loop's thread is away.
    private let state = Atomic<UInt64>(0)
    /// The time at which the loop's thread went away, in nanoseconds of the monotonic clock.
    private let goneSince = Atomic<Int64>(0)

    /// The token of one absence, which the loop's thread needs to come back.
    struct Absence {
        fileprivate var state: UInt64
    }

    /// Records that the loop's thread begins other work. It must not use the loop until ``comeBack(_:)`` returns true.
    func goAway(at now: Int64) -> Absence {
        goneSince.store(now, ordering: .relaxed)
        let away = state.load(ordering: .relaxed) | 1
        state.store(away, ordering: .releasing)
        return Absence(state: away)
    }

    /// Ends an absence of the loop's thread.
    /// - Returns: true if it still owns the loop.
    func comeBack(_ absence: Absence) -> Bool {
        state.compareExchange(
            expected: absence.state, desired: absence.state & ~1, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Takes the loop over for another thread.
    /// - Parameter moment: the loop's thread must have been away at least since this time.
    /// - Returns: true if the caller owns the loop now.
    func takeOver(ifGoneSince moment: Int64) -> Bool {
        let seen = state.load(ordering: .acquiring)
        guard seen & 1 == 1, goneSince.load(ordering: .relaxed) <= moment else { return false }
        return state.compareExchange(expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing).exchanged
    }
}
