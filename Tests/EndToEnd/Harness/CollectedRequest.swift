/// One HTTP request as a collector received it.
struct CollectedRequest: Sendable {
    let method: String
    let target: String
    /// By name in lower case.
    let headers: [String: String]
    let body: String
    /// The status that it was answered with; 0 while, or because, it was not.
    var status = 0

    /// The events of its body.
    var events: [JSON] { ((try? JSON(parsing: body)) ?? .null).elements }

    /// The ids of its events.
    var ids: [String] { events.compactMap { $0["id"].string } }

    /// The events of its body as they were written. Every event begins with its id.
    var rawEvents: [String] {
        guard body.hasPrefix("[{"), body.hasSuffix("}]") else { return [] }
        let parts = body.dropFirst().dropLast().split(separator: ",{\"id\":", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset == 0 ? String($0.element) : "{\"id\":" + $0.element }
    }
}
