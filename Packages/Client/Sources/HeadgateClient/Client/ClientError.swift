import Glibc
import HeadgateTransport
import HeadgateWire

/// The reason why a call to the daemon failed.
///
/// A call whose task is cancelled ends with `CancellationError` instead.
public enum ClientError: Error, Sendable, Equatable {
    /// The client cannot connect. `cause` is for people.
    case cannotConnect(path: String, cause: String)
    /// The connection broke before the answer came. The daemon may have done what the call asked for.
    case disconnected
    /// The daemon refused the call, or failed. The error's `reason` says why (Protocol, Errors).
    case refused(RPCError)
    /// No answer came before the call's deadline. The daemon may still do what the call asks for.
    case timedOut
    /// No room came free before the call's deadline: too many calls, or too many bytes, are unanswered
    /// (``ClientOptions/maxUnanswered``). Nothing was sent.
    case noRoom
    /// The client is closed.
    case closed
    /// The answer is not of the protocol. The text is for people.
    case badAnswer(String)
    /// The client's loop cannot start: the process has no descriptors, memory or threads left. `cause` is for people.
    case cannotStart(cause: String)
}

extension ClientError: CustomStringConvertible {
    /// The error as a text for people.
    public var description: String {
        switch self {
        case .cannotConnect(let path, let cause): "cannot connect to \(path): \(cause)"
        case .disconnected: "the connection was lost before the answer came"
        case .refused(let error): error.message
        case .timedOut: "no answer came in time"
        case .noRoom: "the call was not sent in time: too many calls are unanswered"
        case .closed: "the client is closed"
        case .badAnswer(let text): "malformed answer from the daemon: \(text)"
        case .cannotStart(let cause): "cannot start: \(cause)"
        }
    }
}

extension TransportError {
    /// The cause as a text for people who know the path.
    var cause: String {
        switch code {
        case -ENOENT: "no such socket"
        case -ECONNREFUSED: "no daemon listens on this socket"
        case -EACCES: "permission denied"
        case -EAGAIN: "the daemon is too busy to accept the connection"
        default: description
        }
    }

    /// True if another attempt at the same path fails until the rights, the path or the file change.
    var isPermanent: Bool {
        switch self {
        case .pathTooLong, .invalidPath, .notASocket: true
        default: [-EACCES, -EPERM, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EPROTOTYPE, -ENOTSOCK].contains(code)
        }
    }
}
