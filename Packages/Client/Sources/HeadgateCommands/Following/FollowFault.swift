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

    /// There is no room, or too little of what all processes share.
    static let shortages: Set<Int32> = [ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE]
}

extension RPCError {
    /// What becomes of a line that the daemon refuses.
    enum FateOfLine {
        /// The daemon may take it later.
        case goesAgain
        /// It is the line's fault.
        case isSkipped
        /// It is not, and nobody knows whether it passes: the line is not given up.
        case endsFollowing
    }

    var fateOfLine: FateOfLine {
        switch reason {
        case .queueFull, .storage, .shuttingDown: .goesAgain
        case .eventTooLarge, .lineTooLong, .limit: .isSkipped
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
