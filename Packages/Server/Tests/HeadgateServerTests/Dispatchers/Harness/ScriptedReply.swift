/// What a server does with a request.
enum ScriptedReply: Sendable {
    /// Sends these bytes and keeps the connection.
    case bytes(String)
    /// Sends these bytes and closes the connection.
    case last(String)
    /// Sends the first and then the second, over and over.
    case endless(String, again: String)
    /// Says nothing until the client goes.
    case silence

    static func status(_ line: String, headers: [String] = [], body: String = "") -> ScriptedReply {
        let length = "Content-Length: \(body.utf8.count)"
        return .bytes((["HTTP/1.1 \(line)", length] + headers).joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    static let ok = ScriptedReply.status("200 OK")
}
