/// Decides whether a loop looks on for a moment before it sleeps (decision 56).
///
/// To sleep and to be woken takes longer than many a client needs to ask for the next thing. Looking on takes the processor
/// meanwhile. So it is done where the last wait was short, for no longer than such a wait, and where nothing came of it several times only now
/// and then.
struct BusyPoll {
    /// So long one looks on, in nanoseconds.
    static let longest: Int64 = 20_000
    /// A sleep with what was done behind it that took no longer, in nanoseconds, could have been a look: most of it was falling asleep and
    /// waking.
    static let shortSleep: Int64 = 100_000
    /// Looks in vain in a row that make those after them rarer.
    private static let mostInVain = 10

    /// Whether the last wait was short.
    private var isWorthWhile = false
    /// So many looks in a row were in vain.
    private var inVain = 0
    /// So many waits are slept through before the next look.
    private var pause = 0

    /// Whether to look on before the next sleep.
    mutating func looks() -> Bool {
        guard pause == 0 else {
            pause -= 1
            return false
        }
        return isWorthWhile
    }

    /// - Parameter isFound: whether something came.
    mutating func looked(isFound: Bool) {
        inVain = isFound ? 0 : min(inVain + 1, BusyPoll.mostInVain)
        pause = isFound ? 0 : 1 << inVain
    }

    /// - Parameter nanoseconds: how long the loop slept, and did behind it what it was woken for.
    mutating func slept(for nanoseconds: Int64) {
        isWorthWhile = nanoseconds <= BusyPoll.shortSleep
    }
}
