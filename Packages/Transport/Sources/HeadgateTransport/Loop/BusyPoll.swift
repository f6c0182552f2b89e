/// Decides whether a loop polls for a moment before it sleeps (decision 56).
///
/// To sleep and to be woken takes longer than many a client needs to ask for the next thing. Polling takes the processor
/// meanwhile. So it is done where the last wait was short, for no longer than such a wait, and where nothing came of it several times only now
/// and then.
struct BusyPoll {
    /// So long one polls, in nanoseconds.
    static let longest: Int64 = 20_000
    /// A sleep with what was done behind it that took no longer, in nanoseconds, could have been polling: most of it was falling asleep and
    /// waking.
    static let shortSleep: Int64 = 100_000
    /// So often in vain in a row makes it rarer still.
    private static let mostInVain = 10

    /// Whether the last wait was short.
    private var isWorthWhile = false
    /// How often in a row it was in vain.
    private var inVain = 0
    /// So many waits are slept through before it is tried again.
    private var pause = 0

    /// Whether to poll before the next sleep.
    mutating func polls() -> Bool {
        guard pause == 0 else {
            pause -= 1
            return false
        }
        return isWorthWhile
    }

    /// - Parameter isFound: whether something came.
    mutating func polled(isFound: Bool) {
        inVain = isFound ? 0 : min(inVain + 1, BusyPoll.mostInVain)
        pause = isFound ? 0 : 1 << inVain
    }

    /// - Parameter nanoseconds: how long the loop slept, and did behind it what it was woken for.
    mutating func slept(for nanoseconds: Int64) {
        isWorthWhile = nanoseconds <= BusyPoll.shortSleep
    }
}
