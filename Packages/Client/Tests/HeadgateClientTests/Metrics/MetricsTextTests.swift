import Foundation
import HeadgateClient
import HeadgateData
import Testing

@Suite("Metrics as text") struct MetricsTextTests {
    /// An answer of a daemon, with labels that have to be escaped.
    private static let answer: DataObject = [
        "metrics": [
            [
                "name": "headgate_received_total", "type": "counter", "help": "Valid \"events\" \\ lines\nof two.",
                "unit": nil, "samples": [["labels": [:], "value": 3]],
            ],
            [
                "name": "headgate_barrier_closed_seconds_total", "type": "counter", "help": "Closed.",
                "unit": "seconds",
                "samples": [["labels": ["barrier": "a\"b\\c\nd", "dispatcher": "é"], "value": 1.5]],
            ],
            ["name": "headgate_later", "type": "gaugehistogram", "help": "", "unit": nil, "samples": []],
            [
                "name": "headgate_sync_seconds", "type": "histogram", "help": "Syncs.", "unit": "seconds",
                "samples": [
                    ["labels": [:], "buckets": [[0.001, 1], [nil, 2]], "sum": 0.25, "count": 2],
                    ["labels": ["a": "b"], "buckets": [[0.001, 0], [nil, 0]], "sum": 0, "count": 0],
                ],
            ],
            [
                "name": "headgate_store_events", "type": "gauge", "help": "Events.", "unit": "events",
                "samples": [["labels": [:], "value": 0]],
            ],
        ]
    ]

    private let metrics = ListedMetric.list(in: MetricsTextTests.answer) ?? []

    @Test("O1: Prometheus' text has names with _total, help, types, buckets up to +Inf")
    func prometheus() {
        #expect(
            MetricsText.prometheus.text(metrics) == #"""
                # HELP headgate_received_total Valid "events" \\ lines\nof two.
                # TYPE headgate_received_total counter
                headgate_received_total 3
                # HELP headgate_barrier_closed_seconds_total Closed.
                # TYPE headgate_barrier_closed_seconds_total counter
                headgate_barrier_closed_seconds_total{barrier="a\"b\\c\nd",dispatcher="é"} 1.5
                # HELP headgate_sync_seconds Syncs.
                # TYPE headgate_sync_seconds histogram
                headgate_sync_seconds_bucket{le="0.001"} 1
                headgate_sync_seconds_bucket{le="+Inf"} 2
                headgate_sync_seconds_sum 0.25
                headgate_sync_seconds_count 2
                headgate_sync_seconds_bucket{a="b",le="0.001"} 0
                headgate_sync_seconds_bucket{a="b",le="+Inf"} 0
                headgate_sync_seconds_sum{a="b"} 0
                headgate_sync_seconds_count{a="b"} 0
                # HELP headgate_store_events Events.
                # TYPE headgate_store_events gauge
                headgate_store_events 0

                """#)
    }

    @Test("O1: OpenMetrics names a counter's family without _total, states units, and ends")
    func openMetrics() {
        let lines = MetricsText.openMetrics.text(metrics).split(separator: "\n").map(String.init)
        #expect(
            lines.prefix(7) == [
                "# TYPE headgate_received counter",
                #"# HELP headgate_received Valid \"events\" \\ lines\nof two."#, "headgate_received_total 3",
                "# TYPE headgate_barrier_closed_seconds counter", "# UNIT headgate_barrier_closed_seconds seconds",
                "# HELP headgate_barrier_closed_seconds Closed.",
                #"headgate_barrier_closed_seconds_total{barrier="a\"b\\c\nd",dispatcher="é"} 1.5"#,
            ])
        #expect(lines.last == "# EOF")
        #expect(lines.contains("# UNIT headgate_store_events events"))
    }

    @Test("O1: promtool reports no problem in the text")
    func promtool() throws {
        let tool = Process()
        let input = Pipe()
        let output = Pipe()
        tool.executableURL = URL(filePath: "/usr/bin/promtool")
        tool.arguments = ["check", "metrics"]
        (tool.standardInput, tool.standardOutput, tool.standardError) = (input, output, output)
        try tool.run()
        try input.fileHandleForWriting.write(contentsOf: Data(MetricsText.prometheus.text(metrics).utf8))
        try input.fileHandleForWriting.close()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        tool.waitUntilExit()
        #expect(tool.terminationStatus == 0, "\(String(decoding: said, as: UTF8.self))")
    }

    @Test("O1: invalid parts of an answer are ignored, and the rest is read")
    func nonsense() {
        let answer: DataObject = [
            "metrics": [
                ["type": "gauge"], ["name": "a", "type": "new"],
                ["name": "b", "type": "gauge", "samples": [["labels": ["x": 1]], ["value": "1"], ["value": 2]]],
                [
                    "name": "c", "type": "histogram",
                    "samples": [["value": 1], ["buckets": [[1], [1, 2, 3]], "sum": 1]],
                ],
            ]
        ]
        let metrics = ListedMetric.list(in: answer) ?? []
        #expect(metrics.map(\.name) == ["b", "c"])
        #expect(metrics.map(\.samples.count) == [1, 0])
        #expect(ListedMetric.list(in: [:]) == nil)
    }
}
