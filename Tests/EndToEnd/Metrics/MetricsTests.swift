import Foundation
import Testing

/// The counters and measures of a real daemon, and the output of the tool.
@Suite struct MetricsTests {
    /// Returns the output of `headgate metrics` by series, without histogram buckets.
    private func metrics(of daemon: Daemon) async throws -> [String: Double] {
        let run = try await CommandLineTool.run("metrics", on: daemon)
        #expect(run.exitCode == 0, "\(run.errorOutput)")
        let lines = run.output.split(separator: "\n").filter { !$0.hasPrefix("#") }
        return lines.reduce(into: [:]) { metrics, line in
            let words = line.split(separator: " ")
            metrics[words.dropLast().joined(separator: " ")] = words.last.flatMap { Double($0) }
        }
    }

    @Test("O1: delivered, dead-lettered, expired and held events are counted, timed, and shown with their causes")
    func reported() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": [
                    "collect": collector.dispatcher(["dispatch_limit": 1]),
                    "archive": ["kind": "file", "path": "archive.ndjson"],
                ]
            ])
            try await daemon.pause("archive")
            collector.answerNext(.status(400), .status(503))
            let client = try await daemon.connect()
            defer { client.close() }
            for number in 1...3 {
                _ = try await client.result(
                    "track", ["event": "x", "id": .string("e\(number)"), "dispatchers": ["collect"]])
            }
            _ = try await client.result("track", ["event": "x", "id": "old", "ttl_ms": 1, "dispatchers": ["archive"]])
            _ = try await client.result("track", ["event": "x", "id": "held", "dispatchers": ["archive"]])
            try await daemon.dispatcher(until: "two events are delivered") { $0["sent"].int == 2 }
            try await daemon.dispatcher("archive", until: "the old events have expired") { $0["expired"].int == 1 }
            let reported = try await metrics(of: daemon)
            let expected: [String: Double] = [
                "headgate_received_total": 5, "headgate_delivered_total": 2, "headgate_dead_total": 1,
                "headgate_expired_total": 1, "headgate_retried_total": 1,
                #"headgate_dispatcher_sent_total{dispatcher="collect"}"#: 2,
                #"headgate_dispatcher_dead_total{dispatcher="collect"}"#: 1,
                #"headgate_dispatcher_failed_total{dispatcher="collect"}"#: 2,
                #"headgate_dispatcher_pending{dispatcher="archive"}"#: 1,
                #"headgate_dispatcher_open{dispatcher="archive"}"#: 0,
                #"headgate_dispatcher_open{dispatcher="collect"}"#: 1,
                #"headgate_barrier_closed{barrier="ManualBarrier:archive",dispatcher="archive"}"#: 1,
                #"headgate_barrier_closed{barrier="ManualBarrier:collect",dispatcher="collect"}"#: 0,
                "headgate_store_events": 1, "headgate_acknowledge_seconds_count": 5,
                #"headgate_acknowledge_seconds_bucket{le="+Inf"}"#: 5,
                #"headgate_delivery_seconds_count{dispatcher="collect"}"#: 2,
                #"headgate_attempt_seconds_count{dispatcher="collect",outcome="delivered"}"#: 2,
                #"headgate_attempt_seconds_count{dispatcher="collect",outcome="dead"}"#: 1,
                #"headgate_attempt_seconds_count{dispatcher="collect",outcome="retry"}"#: 1,
                #"headgate_batch_events_sum{dispatcher="collect"}"#: 4,
            ]
            for (series, value) in expected { #expect(reported[series] == value, "\(series)") }
            let held = #"headgate_barrier_closed_seconds_total{barrier="ManualBarrier:archive",dispatcher="archive"}"#
            #expect(reported[held] ?? 0 > 0)
            #expect(reported["headgate_sync_seconds_count"] ?? 0 > 0)
            #expect(reported["process_resident_memory_bytes"] ?? 0 > 1e6)
        }
    }

    @Test("O1: promtool accepts the output of headgate metrics, and --json is the daemon's answer")
    func checked() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let run = try await CommandLineTool.run("metrics", on: daemon)
            let file = scene.directory.path("headgate.prom")
            try run.output.write(toFile: file, atomically: true, encoding: .utf8)
            let check = try await CommandLineTool.run(
                program: "/bin/sh", ["-c", "exec promtool check metrics <\(file)"], in: daemon.folder)
            #expect(check.output + check.errorOutput == "")
            let answer = try await CommandLineTool.run("metrics", "--json", on: daemon).json
            #expect(answer["metrics"].elements.first?["name"] == "headgate_build_info")
        }
    }
}
