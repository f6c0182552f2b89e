/// Which of the formats of metrics a scraper wants.
enum MetricsFormat {
    /// Whether it asks for OpenMetrics, and likes that no less than plain text (RFC 9110, 12.5.1). Who takes anything gets
    /// plain text.
    /// - Parameter accept: the values of `Accept`.
    static func wantsOpenMetrics(_ accept: [String]) -> Bool {
        let ranges = accept.flatMap { $0.split(separator: ",") }.map(MediaRange.init)
        let open = ranges.filter { $0.type == "application/openmetrics-text" }.map(\.quality).max() ?? 0
        let plain = ranges.filter { $0.type == "text/plain" }.map(\.quality).max() ?? 0
        return open > 0 && open >= plain
    }

    /// One of the types that are taken, and how gladly.
    private struct MediaRange {
        let type: String
        let quality: Double

        init(_ text: Substring) {
            let parts = text.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            type = parts.first ?? ""
            let wish = parts.dropFirst().first { $0.hasPrefix("q=") }
            quality = wish.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        }
    }
}
