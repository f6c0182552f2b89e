/// One HTTP request as a collector received it.
struct CollectedRequest: Sendable {
    let method: String
    let target: String
    /// By name in lower case.
    let headers: [String: String]
    let body: String
    /// The events of its body. Read once: tests ask for them again and again while they wait, and would take the time
    /// that all other tests need.
    let events: [JSON]
    /// The ids of its events.
    let ids: [String]
    /// The status that it was answered with; 0 while, or because, it was not.
    var status = 0

    init(method: String, target: String, headers: [String: String], body: String) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        events = ((try? JSON(parsing: body)) ?? .null).elements
        ids = events.compactMap { $0["id"].string }
    }

    /// The events of its body as they were written. Every event begins with its id.
    var rawEvents: [String] {
        guard body.hasPrefix("[{"), body.hasSuffix("}]") else { return [] }
        let parts = body.dropFirst().dropLast().split(separator: ",{\"id\":", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset == 0 ? String($0.element) : "{\"id\":" + $0.element }
    }
}
