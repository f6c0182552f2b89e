import Synchronization

/// Which thread has a loop, while its thread does something else for a moment: it has it again when it comes back, unless
/// another has taken it over meanwhile.
///
/// The same words for the one order that counts: who takes a loop over sees all that was done to it before its thread went away.
final class LoopTenure: Sendable {
    /// How often the loop was taken over, twice, and one more while its thread is away.
    private let state = Atomic<UInt64>(0)
    /// When it went away, in nanoseconds of the monotonic clock.
    private let goneSince = Atomic<Int64>(0)

    /// What a thread that goes away comes back with.
    struct Absence {
        fileprivate var state: UInt64
    }

    /// The loop's thread goes away for a while. It touches nothing of the loop's until it is back.
    func goAway(at now: Int64) -> Absence {
        goneSince.store(now, ordering: .relaxed)
        let away = state.load(ordering: .relaxed) | 1
        state.store(away, ordering: .releasing)
        return Absence(state: away)
    }

    /// The thread is back.
    /// - Returns: whether it still has the loop.
    func comeBack(_ absence: Absence) -> Bool {
        state.compareExchange(
            expected: absence.state, desired: absence.state & ~1, ordering: .acquiringAndReleasing
        ).exchanged
    }

    /// Another thread wants the loop.
    /// - Parameter moment: it gets it if the loop's thread has been away since then or longer.
    func takeOver(ifGoneSince moment: Int64) -> Bool {
        let seen = state.load(ordering: .acquiring)
        guard seen & 1 == 1, goneSince.load(ordering: .relaxed) <= moment else { return false }
        return state.compareExchange(expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing).exchanged
    }
}
