import Glibc
import HeadgateWire

/// Why a file cannot be followed.
struct FollowFault: Error, CustomStringConvertible {
    let description: String
    /// Whether it is worth to wait until it is over; else it is the end of following.
    let isPassing: Bool

    /// What a call of the system failed with.
    /// - Parameter passing: the codes that may be over later.
    init(_ what: String, _ path: String, _ code: Int32 = errno, passing: Set<Int32> = FollowFault.shortages) {
        description = "cannot \(what) \(path): \(String(cString: strerror(code)))"
        isPassing = passing.contains(code)
    }

    init(_ description: String) {
        (self.description, isPassing) = (description, false)
    }

    /// The file holds something else than events (Behaviour L5).
    /// - Parameter line: one of its lines.
    init(foreign name: String, like line: [UInt8]) {
        self.init(
            """
            \(name) has another format: none of its first \(FileFormat.patience) lines is an event
            expected on each line: a JSON object such as {"event": "signup", "data": {"plan": "pro"}}
            found: \(FollowFault.beginning(of: line))
            nothing of these lines was sent, and the position stays where it was
            """)
    }

    /// The beginning of a line, to be shown.
    static func beginning(of line: [UInt8]) -> String {
        String(decoding: line.prefix(shown), as: UTF8.self) + (line.count > shown ? "…" : "")
    }

    private static let shown = 80

    /// There is no room, or too little of what all processes share.
    static let shortages: Set<Int32> = [ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE]
}

extension RPCError {
    /// What becomes of a line that the daemon refuses.
    enum FateOfLine {
        /// The daemon may take the line later.
        case goesAgain
        /// The line itself is at fault.
        case isSkipped
        /// Neither is certain: the line is not given up.
        case endsFollowing
    }

    var fateOfLine: FateOfLine {
        switch reason {
        case .queueFull, .storage, .shuttingDown: .goesAgain
        // The nesting is the line's own. Other limits concern what the daemon has to keep at the moment.
        case .limit: data["max_depth"] == nil ? .goesAgain : .isSkipped
        case .eventTooLarge, .lineTooLong: .isSkipped
        case nil where code == RPCError.invalidParamsCode || code == RPCError.parseErrorCode: .isSkipped
        default: .endsFollowing
        }
    }
}

/// What was complained of, so that what goes on is not told again and again. Pure.
struct Complaints {
    private var told: [String: ContinuousClock.Instant] = [:]

    /// After how long the same is told again.
    static let interval = Duration.seconds(600)

    /// Whether this is to be told now.
    mutating func isNews(_ text: String, at now: ContinuousClock.Instant = .now) -> Bool {
        told = told.filter { now - $0.value < Self.interval }
        guard told[text] == nil else { return false }
        told[text] = now
        return true
    }
}
