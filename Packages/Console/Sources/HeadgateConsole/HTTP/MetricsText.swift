import HeadgateData

/// Numbers for Prometheus and whoever reads its formats (Behaviour O1).
enum MetricsText {
    /// The answer of `metrics` as text.
    static func response(_ metrics: DataObject, _ isOpenMetrics: Bool) -> HTTPResponse {
        .words(503, "not yet")
    }
}
