import HeadgateData
import Testing

@testable import HeadgateConsole

/// Tests sums, differences and quantiles of histograms.
@Suite("Histograms")
struct HistogramTests {
    private func histogram(_ counts: Double...) throws -> Histogram {
        try #require(Histogram(bounds: [1, 2, 4], counts: counts))
    }

    @Test("A quantile is interpolated linearly between the bounds of its bucket")
    func quantiles() throws {
        let times = try histogram(0, 10, 10, 10)
        #expect(times.quantile(0.5) == 1.5)
        #expect(times.quantile(1) == 2)
        #expect(try histogram(4, 4, 4, 8).quantile(0.25) == 0.5)
    }

    @Test("A value beyond the last bound counts in the last bucket; without values there is no quantile")
    func ends() throws {
        #expect(try histogram(0, 0, 0, 5).quantile(0.5) == 4)
        #expect(try histogram(0, 0, 0, 0).quantile(0.5) == nil)
    }

    @Test("A difference of histograms is a histogram; after a restart of the daemon there is none")
    func since() throws {
        let old = try histogram(1, 2, 2, 2)
        #expect(try histogram(1, 5, 6, 6).since(old) == histogram(0, 3, 4, 4))
        #expect(try histogram(0, 1, 1, 1).since(old) == nil)
    }

    @Test("O1: a histogram is read from the method metrics, and summed over labels")
    func reading() throws {
        func sample(_ dispatcher: String, _ count: Int) -> DataItem {
            [
                "labels": ["dispatcher": .string(dispatcher)], "sum": 1.5, "count": .number(DataNumber(count)),
                "buckets": [[0.1, .number(DataNumber(count))], [nil, .number(DataNumber(count))]],
            ]
        }
        let metric: DataItem = ["name": "m", "type": "histogram", "samples": [sample("a", 2), sample("b", 3)]]
        let table = MetricTable([
            "metrics": [metric, ["name": "n", "type": "gauge", "samples": [["labels": [:], "value": 7]]]]
        ])
        #expect(table.histogram("m")?.count == 5 && table.histogram("m", ("dispatcher", "b"))?.count == 3)
        #expect(table.value("n") == 7 && table.value("m") == nil && table.histogram("none") == nil)
    }

    @Test("Malformed metrics are skipped")
    func nonsense() {
        let table = MetricTable([
            "metrics": [["name": "m", "type": "histogram", "samples": [["buckets": [[1]]], ["value": "x"]]], [:]]
        ])
        #expect(table.histogram("m") == nil && table.value("m") == nil)
    }
}
