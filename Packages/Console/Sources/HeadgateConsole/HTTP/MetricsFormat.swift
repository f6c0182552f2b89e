/// The choice of the metrics format for a scraper.
enum MetricsFormat {
    /// Returns true if the scraper prefers OpenMetrics, or likes it as much as plain text (RFC 9110, 12.5.1). A scraper
    /// that accepts anything gets plain text.
    /// - Parameter accept: the values of `Accept`.
    static func wantsOpenMetrics(_ accept: [String]) -> Bool {
        let ranges = accept.flatMap { $0.split(separator: ",") }.map(MediaRange.init)
        let open = ranges.filter { $0.type == "application/openmetrics-text" }.map(\.quality).max() ?? 0
        let plain = ranges.filter { $0.type == "text/plain" }.map(\.quality).max() ?? 0
        return open > 0 && open >= plain
    }

    /// A media type of `Accept` with its quality.
    private struct MediaRange {
        let type: String
        let quality: Double

        init(_ text: Substring) {
            let parts = text.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
            type = parts.first ?? ""
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
            quality = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
        }
    }
}
