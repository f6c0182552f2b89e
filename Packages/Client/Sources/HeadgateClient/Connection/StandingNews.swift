import HeadgateWire

/// What is told of a call that is made again on each connection, since what it asks for lasts as long as a connection.
enum StandingNews {
    /// The daemon granted it on the present connection. The answer is gone after the call.
    case granted(JSONView)
    /// The connection is gone, and what was granted with it.
    case interrupted(ClientError)
    /// It is not made any more: refused, given up, or abandoned (`CancellationError`). Told once and last.
    case ended(any Error)
}
