import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

/// Compares `Docs/Metrics.md` with the metrics that the code declares.
@Suite struct MetricsPageTests {
    private static let page = try? String(
        contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../../Docs/Metrics.md").standardized.path, encoding: .utf8)

    @Test("O1: Docs/Metrics.md has a row for each metric, in order, and no other row")
    func rows() {
        // The table of recording rules is left out.
        let rows = (Self.page ?? "").split(separator: "\n")
            .filter { $0.hasPrefix("| `headgate_") || $0.hasPrefix("| `process_") }.map(String.init)
        let expected = MetricTable.all.map(\.row)
        #expect(rows == expected, "the table of Docs/Metrics.md has to be:\n\(expected.joined(separator: "\n"))")
    }

    @Test("O1: metric names end with the unit and the type, by the conventions of Prometheus")
    func names() {
        for metric in MetricTable.all {
            let base = metric.name.hasSuffix("_total") ? String(metric.name.dropLast(6)) : metric.name
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.unit.map { base.hasSuffix("_\($0.rawValue)") } ?? true, "\(metric.name)")
            let isOwn = metric.name.hasPrefix("headgate_") || metric.name.hasPrefix("process_")
            #expect(isOwn && metric.name.allSatisfy { $0.isLowercase || $0 == "_" }, "\(metric.name)")
        }
    }
}

extension Metric {
    /// The metric's row in the page.
    fileprivate var row: String {
        let labels = labels.map { "`\($0)`" }.joined(separator: ", ")
        return "| `\(name)` | \(kind.rawValue) | \(labels) | \(help) |"
    }
}
