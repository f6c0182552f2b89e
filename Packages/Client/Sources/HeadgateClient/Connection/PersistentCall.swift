import HeadgateWire

/// Reports about a barrier, a board or a status of this client. It lasts as long as a connection, and the client asks
/// for it again on the next one.
public enum PersistentCallReport {
    /// The daemon has granted it, for the first time or again.
    case began
    /// The connection is lost for this reason. It begins again on the next connection.
    case interrupted(ClientError)
    /// It does not begin again: the daemon refused it, did not come back in time, or the connection was closed.
    /// Reported once and last. A `CancellationError` if this client ended it.
    case ended(any Error)

    init(_ news: PersistentCallNews) {
        switch news {
        case .granted: self = .began
        case .interrupted(let error): self = .interrupted(error)
        case .ended(let error): self = .ended(error)
        }
    }
}

/// Reports about a persistent call.
enum PersistentCallNews {
    /// The daemon granted it on the present connection. The answer is only valid during the call.
    case granted(JSONView)
    /// The connection is lost, and with it what the daemon had granted.
    case interrupted(ClientError)
    /// It is not made again: refused, timed out, or cancelled (`CancellationError`). Reported once and last.
    case ended(any Error)
}

/// The caller of a persistent call.
struct PersistentCall {
    /// Names in warnings what the call asks for.
    let name: String
    let notify: (PersistentCallNews) -> Void
    /// Gives back what the daemon may grant although the caller no longer waits.
    let giveBack: () -> Void
}
