import Glibc
import HeadgateTransport
import HeadgateWire

/// Why a call to the daemon came to nothing.
///
/// A call whose task is cancelled ends with `CancellationError` instead.
public enum ClientError: Error, Sendable, Equatable {
    /// There is no connection to be had. `cause` is for people.
    case cannotConnect(path: String, cause: String)
    /// The connection broke before the answer came. What was asked for may have been done, or not.
    case disconnected
    /// The daemon refused, or failed; the error's `reason` says why (Protocol, Errors).
    case refused(RPCError)
    /// No answer came before the call's deadline. The daemon may do yet what was asked for.
    case timedOut
    /// No room came free before the call's deadline: too many calls, or too many bytes, are unanswered
    /// (``ClientOptions/maxUnanswered``). Nothing was sent.
    case noRoom
    /// The client is closed.
    case closed
    /// What came is no answer of the protocol. The text is for people.
    case badAnswer(String)
    /// The client's loop cannot be started: the process has no descriptors, memory or threads left. `cause` is for
    /// people.
    case cannotStart(cause: String)
}

extension ClientError: CustomStringConvertible {
    /// What went wrong, for people.
    public var description: String {
        switch self {
        case .cannotConnect(let path, let cause): "cannot connect to \(path): \(cause)"
        case .disconnected: "the connection broke before the answer came"
        case .refused(let error): error.message
        case .timedOut: "no answer came in time"
        case .noRoom: "no room came free in time: too many calls are unanswered"
        case .closed: "the client is closed"
        case .badAnswer(let text): "not an answer of the protocol: \(text)"
        case .cannotStart(let cause): "cannot start: \(cause)"
        }
    }
}

extension TransportError {
    /// Why there is no connection, for people who know the path already.
    var cause: String {
        switch code {
        case -ENOENT: "there is no such socket"
        case -ECONNREFUSED: "nobody listens there"
        case -EACCES: "permission denied"
        case -EAGAIN: "the daemon is too busy to take the connection"
        default: description
        }
    }

    /// A Boolean value that says whether another attempt at the same path fails in the same way until somebody changes the
    /// rights, the path or the file.
    var isPermanent: Bool {
        switch self {
        case .pathTooLong, .invalidPath, .notASocket: true
        default: [-EACCES, -EPERM, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -EPROTOTYPE, -ENOTSOCK].contains(code)
        }
    }
}
