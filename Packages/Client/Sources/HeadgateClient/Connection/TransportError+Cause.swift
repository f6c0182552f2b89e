import Glibc
import HeadgateTransport

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
}
