/// The URL that takes one event along, as JSON in the query parameter `event` (Behaviour K1, method GET).
struct EventURL {
    let text: String

    /// - Parameter endpoint: A URL, which may have a query of its own. Its fragment is left out: it is never sent.
    init(endpoint: String, event: [UInt8]) {
        let base = endpoint.prefix { $0 != "#" }
        text = "\(base)\(Self.separator(behind: base))event=\(PercentEncoding.query(event))"
    }

    private static func separator(behind base: Substring) -> String {
        guard base.contains("?") else { return "?" }
        return base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&"
    }
}
