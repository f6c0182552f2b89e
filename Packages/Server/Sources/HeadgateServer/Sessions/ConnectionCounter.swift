import HeadgateCore

/// The counters of connections (Behaviour X2). ``EventCounter`` has those of events.
enum ConnectionCounter: Int, CounterList {
    /// Connections that were refused because there were too many.
    case rejectedConnections
    /// Notifications that failed. Their client gets no answer that says so.
    case failedNotifications
    /// Lines longer than `max_line_bytes`.
    case lineTooLong
    /// Connections that were closed because the client did not read its answers.
    case slowReadersClosed
    /// Messages that were refused because of a limit, for example a limit on depth or on watches.
    case limited
    /// Times that a session stopped reading until it had room for more requests or answers, or until its user was below
    /// `limits.rate`.
    case pausedReadings

    /// The counter's meaning, for documents and metrics.
    var meaning: String {
        switch self {
        case .rejectedConnections: "Connections refused because of limits.max_connections"
        case .failedNotifications: "Notifications (messages without an id) that failed"
        case .lineTooLong: "Lines longer than limits.max_line_bytes"
        case .slowReadersClosed: "Connections closed because the client did not read its answers"
        case .limited: "Messages refused because of a limit"
        case .pausedReadings:
            "Times that reading from a connection was paused until there was room, or until its user was below limits.rate"
        }
    }
}
