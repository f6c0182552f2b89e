import HeadgateData
import HeadgateWire

/// The messages that the session sends by itself.
extension Session {
    /// Sends an error that answers no request.
    func sendError(_ error: RPCError) {
        var writer = JSONWriter()
        writer.errorAnswer(id: nil, error: error)
        writer.endLine()
        send(writer.bytes)
    }

    /// Sends the client the notification that the daemon is about to close the connection.
    func announceClosing(because reason: ErrorReason) {
        var writer = JSONWriter()
        writer.notification(method: ServerMessage.closing.name) { $0.object(["reason": .string(reason.rawValue)]) }
        writer.endLine()
        send(writer.bytes)
    }
}
