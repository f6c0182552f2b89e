import Glibc

/// The seeds of random tests. By default they are the same few each time, so that results are repeatable.
///
///     @Test(arguments: Seeds.first(20)) func anyHistory(seed: Seed)
///
/// A longer run takes more seeds, derived from the clock, and prints them:
///
///     HEADGATE_SEEDS=5000 swift test --filter GateModelTests
///
/// A failed run is repeated with the seed that it printed:
///
///     HEADGATE_SEED=1795320000123 swift test --filter GateModelTests
public enum Seeds {
    static let many = "HEADGATE_SEEDS"
    static let one = "HEADGATE_SEED"

    /// Returns the first `defaultCount` seeds, unless the environment requests others.
    public static func first(_ defaultCount: Int) -> [Seed] {
        chosen.seeds(defaultCount: defaultCount)
    }

    /// The choice of the environment, read once and printed if it is not the default.
    private static let chosen: Choice = {
        let choice = Choice(clock: clock) { name in getenv(name).map { String(cString: $0) } }
        if let announcement = choice.announcement {
            let line = Array((announcement + "\n").utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
        return choice
    }()

    /// Returns milliseconds since 1970.
    private static func clock() -> UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
    }

    /// The choice of seeds.
    enum Choice: Equatable {
        case `default`
        case only(Seed)
        case others(from: UInt64, count: Int)

        init(clock: () -> UInt64, _ variable: (String) -> String?) {
            if let seed = variable(one).flatMap({ UInt64($0) }) {
                self = .only(Seed(seed))
            } else if let count = variable(many).flatMap({ Int($0) }), count > 0 {
                self = .others(from: clock(), count: count)
            } else {
                self = .default
            }
        }

        func seeds(defaultCount: Int) -> [Seed] {
            switch self {
            case .default: (0..<defaultCount).map { Seed(UInt64($0 + 1)) }
            case .only(let seed): [seed]
            case .others(let base, let count): (0..<count).map { Seed(base &+ UInt64($0)) }
            }
        }

        /// The message that tells how to repeat the run; nil for the default.
        var announcement: String? {
            switch self {
            case .default: nil
            case .only(let seed): "the random tests run with \(seed) alone"
            case .others(let base, let count):
                "the random tests run with \(count) seeds from \(Seed(base)) on; one of them runs alone with that variable"
            }
        }
    }
}
