import HeadgateWire

/// The declaration of a request or notification that the daemon sends to clients.
struct ServerMessage: Sendable {
    let name: StaticString
    /// The purpose of the message, for documents.
    let summary: String
    let params: [Schema.Member]
    /// The result that the client must return, or nil for a notification.
    let result: Schema?

    init(_ name: StaticString, _ summary: String, params: [Schema.Member], result: Schema? = nil) {
        self.name = name
        self.summary = summary
        self.params = params
        self.result = result
    }
}

extension ServerMessage {
    static let closing = ServerMessage(
        "closing", "The server will close this connection.",
        params: [.required("reason", .words([ErrorReason.shuttingDown.rawValue, ErrorReason.unauthorized.rawValue]))])
}
