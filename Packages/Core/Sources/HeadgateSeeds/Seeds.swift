import Glibc

/// The seeds of the random tests: the same few each time, so that what passed once passes again.
///
///     @Test(arguments: Seeds.first(20)) func anyHistory(seed: Seed)
///
/// A longer run takes others, as many as it is told to, from the clock, and says which:
///
///     HEADGATE_SEEDS=5000 swift test --filter GateModelTests
///
/// and a run that failed is had again by the seed that it printed:
///
///     HEADGATE_SEED=1795320000123 swift test --filter GateModelTests
public enum Seeds {
    static let many = "HEADGATE_SEEDS"
    static let one = "HEADGATE_SEED"

    /// The first so many seeds, unless the environment asks for others.
    public static func first(_ usual: Int) -> [Seed] {
        chosen.seeds(usual: usual)
    }

    /// What the environment asks for, read once, and told where it is not the usual.
    private static let chosen: Choice = {
        let choice = Choice(clock: clock) { name in getenv(name).map { String(cString: $0) } }
        if let announcement = choice.announcement {
            let line = Array((announcement + "\n").utf8)
            _ = write(STDERR_FILENO, line, line.count)
        }
        return choice
    }()

    /// Milliseconds since 1970.
    private static func clock() -> UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(now.tv_sec) * 1000 + UInt64(now.tv_nsec) / 1_000_000
    }

    /// Which seeds are taken.
    enum Choice: Equatable {
        case usual
        case only(Seed)
        case others(from: UInt64, count: Int)

        init(clock: () -> UInt64, _ variable: (String) -> String?) {
            if let seed = variable(one).flatMap({ UInt64($0) }) {
                self = .only(Seed(seed))
            } else if let count = variable(many).flatMap({ Int($0) }), count > 0 {
                self = .others(from: clock(), count: count)
            } else {
                self = .usual
            }
        }

        func seeds(usual: Int) -> [Seed] {
            switch self {
            case .usual: (0..<usual).map { Seed(UInt64($0 + 1)) }
            case .only(let seed): [seed]
            case .others(let base, let count): (0..<count).map { Seed(base &+ UInt64($0)) }
            }
        }

        /// What people have to know to have the same run again.
        var announcement: String? {
            switch self {
            case .usual: nil
            case .only(let seed): "the random tests run with \(seed) alone"
            case .others(let base, let count):
                "the random tests run with \(count) seeds from \(Seed(base)) on; one of them runs alone with that variable"
            }
        }
    }
}
