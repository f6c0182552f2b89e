import HeadgateData

/// Writes metrics as monitoring systems read them (Behaviour O1).
///
///     let metrics = ListedMetric.list(in: try await client.call("metrics")) ?? []
///     let text = MetricsText.prometheus.text(metrics)
public enum MetricsText: Sendable, CaseIterable {
    /// The text format of Prometheus, version 0.0.4, which a textfile collector reads.
    case prometheus
    /// OpenMetrics, version 1.0.0.
    case openMetrics

    /// The value of the HTTP header `Content-Type`.
    public var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Returns the metrics as text, in their order.
    public func text(_ metrics: [ListedMetric]) -> String {
        var text = ""
        for metric in metrics { write(metric, to: &text) }
        if self == .openMetrics { text += "# EOF\n" }
        return text
    }

    private func write(_ metric: ListedMetric, to text: inout String) {
        let family = family(of: metric)
        if self == .prometheus { text += "# HELP \(family) \(escapedHelp(metric.help))\n" }
        text += "# TYPE \(family) \(metric.kind.rawValue)\n"
        if self == .openMetrics {
            if let unit = metric.unit, family.hasSuffix("_" + unit) { text += "# UNIT \(family) \(unit)\n" }
            text += "# HELP \(family) \(escapedHelp(metric.help))\n"
        }
        for sample in metric.samples { write(sample, of: metric.name, to: &text) }
    }

    /// Returns the name of a metric's family. OpenMetrics names a counter without the `_total` of its samples.
    private func family(of metric: ListedMetric) -> String {
        guard self == .openMetrics, metric.kind == .counter, metric.name.hasSuffix(MetricsText.total) else {
            return metric.name
        }
        return String(metric.name.dropLast(MetricsText.total.count))
    }

    private static let total = "_total"

    private func write(_ sample: ListedMetric.Sample, of name: String, to text: inout String) {
        let labels = sample.labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
        let braced = labels.isEmpty ? "" : "{\(labels)}"
        switch sample.reading {
        case .value(let value): text += "\(name)\(braced) \(value.text)\n"
        case .buckets(let buckets, let sum, let count):
            let before = labels.isEmpty ? "" : labels + ","
            for bucket in buckets {
                text += "\(name)_bucket{\(before)le=\"\(bucket.bound?.text ?? "+Inf")\"} \(bucket.count)\n"
            }
            text += "\(name)_sum\(braced) \(sum.text)\n\(name)_count\(braced) \(count)\n"
        }
    }

    private func escapedHelp(_ help: String) -> String { escaped(help, quotes: self == .openMetrics) }

    private func escaped(_ value: String, quotes: Bool) -> String {
        guard value.utf8.contains(where: { $0 == 0x0A || $0 == 0x22 || $0 == 0x5C }) else { return value }
        return value.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\n": text += "\\n"
            case "\\": text += "\\\\"
            case "\"" where quotes: text += "\\\""
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
