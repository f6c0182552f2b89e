/// One request as nginx wrote it down when it had answered.
struct AccessLogEntry: Decodable {
    let connection: String
    /// As in the request line, `HTTP/2.0` for instance.
    let protocolName: String
    let status: Int
    let path: String
    let contentEncoding: String
    /// The subject of the client's certificate; empty without one.
    let clientName: String
    let idempotencyKey: String
    /// The file in which the body was kept, where the place does so.
    let bodyFile: String
    let body: String

    /// The ids of the body's events.
    var ids: [String] { ((try? JSON(parsing: body)) ?? .null).elements.compactMap { $0["id"].string } }
}
