/// The decision whether a loop polls for a moment before it sleeps (decision 56).
///
/// Sleeping and waking up takes longer than many clients need to send their next request, but polling uses the
/// processor. The loop therefore polls only if its last wait was short, and polls at most for a similar time. After
/// each poll in vain it waits longer until the next poll.
struct BusyPoll {
    /// The longest poll in nanoseconds.
    static let longest: Int64 = 20_000
    /// The longest wait, including the work after it, that counts as short, in nanoseconds. Most of such a wait is
    /// spent on falling asleep and waking up.
    static let shortSleep: Int64 = 100_000
    /// The number of consecutive polls in vain up to which the pause grows.
    private static let mostInVain = 10

    /// True if the last wait was short.
    private var isWorthWhile = false
    /// The number of consecutive polls in vain.
    private var inVain = 0
    /// The number of waits without a poll until the next poll.
    private var pause = 0

    /// Returns true if the loop should poll before the next sleep.
    mutating func polls() -> Bool {
        guard pause == 0 else {
            pause -= 1
            return false
        }
        return isWorthWhile
    }

    /// Records the result of a poll.
    /// - Parameter isFound: true if an event arrived.
    mutating func polled(isFound: Bool) {
        inVain = isFound ? 0 : min(inVain + 1, BusyPoll.mostInVain)
        pause = isFound ? 0 : 1 << inVain
    }

    /// Records the duration of a wait.
    /// - Parameter nanoseconds: the duration of the sleep and of the work after it.
    mutating func slept(for nanoseconds: Int64) {
        isWorthWhile = nanoseconds <= BusyPoll.shortSleep
    }
}
