import Glibc
import HeadgateWire

/// The reason why a file cannot be followed.
struct FollowFault: Error, CustomStringConvertible {
    let description: String
    /// True if the fault may pass, so that the follower waits. False if it ends the follower.
    let isPassing: Bool

    /// Makes the fault of a failed system call.
    /// - Parameter passing: the error codes that may pass.
    init(_ what: String, _ path: String, _ code: Int32 = errno, passing: Set<Int32> = FollowFault.shortages) {
        description = "cannot \(what) \(path): \(String(cString: strerror(code)))"
        isPassing = passing.contains(code)
    }

    init(_ description: String) {
        (self.description, isPassing) = (description, false)
    }

    /// Makes the fault of a file that contains no events (Behaviour L5).
    /// - Parameters:
    ///   - line: one of the file's lines, to show.
    ///   - expected: a line of the expected format, to show.
    init(foreign name: String, like line: [UInt8], expected: String) {
        self.init(
            """
            \(name) has another format: none of its first \(FileFormat.mostForeignLines) lines is an event
            expected on each line: \(expected)
            found: \(FollowFault.beginning(of: line))
            none of these lines was sent, and the position is unchanged; --logfmt and --line read other formats
            """)
    }

    /// Returns the beginning of a line, to show.
    static func beginning(of line: [UInt8]) -> String {
        String(decoding: line.prefix(shown), as: UTF8.self) + (line.count > shown ? "…" : "")
    }

    private static let shown = 80

    /// The error codes for a lack of space or of shared resources.
    static let shortages: Set<Int32> = [ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE]
}

extension RPCError {
    /// The consequence of the daemon's refusal of a line.
    enum LineDecision {
        /// The line is sent again, because the daemon may accept it later.
        case goesAgain
        /// The line is skipped, because it is wrong itself.
        case isSkipped
        /// The follower ends and keeps its position before the line, because it is not certain whether the daemon may
        /// accept the line later.
        case endsFollowing
    }

    var lineDecision: LineDecision {
        switch reason {
        case .queueFull, .storage, .shuttingDown: .goesAgain
        // A limit on nesting concerns the line itself. Other limits concern the daemon's present state.
        case .limit: data["max_depth"] == nil ? .goesAgain : .isSkipped
        case .eventTooLarge, .lineTooLong: .isSkipped
        case nil where code == RPCError.invalidParamsCode || code == RPCError.parseErrorCode: .isSkipped
        default: .endsFollowing
        }
    }
}

/// Remembers the messages that were printed, so that a lasting problem is not reported all the time. A pure value.
struct MessageThrottle {
    private var reported: [String: ContinuousClock.Instant] = [:]

    /// The time after which an equal message is printed again.
    static let interval = Duration.seconds(600)

    /// Returns true if the message must be printed now.
    mutating func isNews(_ text: String, at now: ContinuousClock.Instant = .now) -> Bool {
        reported = reported.filter { now - $0.value < Self.interval }
        guard reported[text] == nil else { return false }
        reported[text] = now
        return true
    }
}
