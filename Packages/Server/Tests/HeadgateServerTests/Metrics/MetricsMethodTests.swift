import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("metrics", .timeLimit(.minutes(5)))
struct MetricsMethodTests {
    /// Returns the samples of a metric.
    private func samples(of name: String, _ client: LineClient) async throws -> [DataItem] {
        try await client.call("metrics")["metrics"].element(where: "name", is: .string(name))["samples"].elements
    }

    @Test("O1: metrics has all counters of status, each once, under their Prometheus names")
    func status() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "x", "id": "a"])
            try await client.call("track", ["event": "x", "id": "a"])
            _ = try await client.refusal("track", ["event": "x", "dispatchers": ["nowhere"]])
            try await client.call("flush", ["wait": true])
            let metrics = try await client.call("metrics")["metrics"].elements
            let status = try await client.call("status")
            guard case .object(let counters) = status["counters"] else { throw Missing(what: "counters") }
            #expect(counters.get(key: "duplicates") == 1 && counters.get(key: "delivered") == 2)
            for (name, value) in counters {
                let reported = metrics.filter { $0["name"] == .string("headgate_\(name)_total") }
                #expect(reported.map { $0["type"] } == ["counter"], "\(name)")
                #expect(reported.first?["samples"] == [["labels": [:], "value": value]], "\(name)")
            }
            #expect(Set(metrics.map { $0["name"].json }).count == metrics.count)
            #expect(metrics.allSatisfy { $0["help"].json.hasSuffix(".\"") })
        }
    }

    @Test("O1: metrics has the backlog, state, age of the oldest event, and counters of each dispatcher")
    func dispatchers() async throws {
        try await ServiceStage.run(timeStands: true) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "x"])
            try await stage.advance(by: .milliseconds(1_500))
            try await client.call("flush", ["wait": true, "dispatchers": ["archive"]])
            let expected: [(String, DataItem, DataItem)] = [
                ("pending", 0, 1), ("in_flight", 0, 0), ("in_flight_bytes", 0, 0),
                ("open", 1, 0), ("flushing", 0, 0), ("sent_total", 1, 0), ("failed_total", 0, 0),
                ("retried_total", 0, 0), ("dead_total", 0, 0), ("expired_total", 0, 0), ("evicted_total", 0, 0),
                ("transformed_away_total", 0, 0),
            ]
            for (name, archive, collect) in expected {
                #expect(
                    try await samples(of: "headgate_dispatcher_" + name, client) == [
                        ["labels": ["dispatcher": "archive"], "value": archive],
                        ["labels": ["dispatcher": "collect"], "value": collect],
                    ], "\(name)")
            }
            let held: DataItem = ["barrier": "ManualBarrier:collect", "dispatcher": "collect"]
            let closed = try await samples(of: "headgate_barrier_closed", client)
            #expect(closed.filter { $0["value"] == 1 }.map { $0["labels"] } == [held])
            let times = try await samples(of: "headgate_barrier_closed_seconds_total", client)
            #expect(times.element(where: "labels", is: held)["value"] == 1.5)
            #expect(try await samples(of: "headgate_store_events", client) == [["labels": [:], "value": 1]])
            for name in ["headgate_store_oldest_seconds", "headgate_dispatcher_oldest_seconds"] {
                // The upper bound is wide, because an age may also include time of the machine's own clock.
                let oldest = try await samples(of: name, client).last?["value"].get(as: Double.self) ?? 0
                #expect(oldest >= 1.5 && oldest < 600, "\(name)")
            }
        }
    }

    @Test("O1: the buckets of histograms are cumulative, and the last bound is infinite")
    func histograms() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "x"])
            try await client.call("flush", ["wait": true])
            for name in ["headgate_acknowledge_seconds", "headgate_delivery_seconds", "headgate_batch_events"] {
                let sample = try #require(try await samples(of: name, client).first)
                let counts = sample["buckets"].elements.compactMap { $0.elements[1].get(as: Int.self) }
                #expect(counts == counts.sorted() && counts.last == 1, "\(name)")
                #expect(sample["buckets"].elements.last?.elements[0] == .null, "\(name)")
                #expect(sample["count"] == 1 && sample["sum"].get(as: Double.self) ?? 0 > 0, "\(name)")
            }
            let attempts = try await samples(of: "headgate_attempt_seconds", client)
            let delivered = attempts.filter { $0["labels"]["outcome"] == "delivered" }
            #expect(attempts.count == 8 && delivered.map { $0["count"] } == [1, 1])
        }
    }

    @Test("O1: metrics has the number and duration of a disk store's syncs", arguments: ["log", "sqlite"])
    func syncs(kind: String) async throws {
        try await ServiceStage.run(["durability": "full", "store": ["kind": .string(kind)]]) { stage in
            let client = try await stage.client()
            let before = try await samples(of: "headgate_sync_seconds", client)[0]["count"].get(as: Int.self) ?? 0
            try await client.call("track", ["event": "x"])
            let sample = try await samples(of: "headgate_sync_seconds", client)[0]
            #expect(sample["count"].get(as: Int.self) ?? 0 > before)
            #expect(sample["sum"].get(as: Double.self) ?? 0 > 0)
        }
    }

    @Test("O1: metrics has the resident memory and CPU time of the daemon's process")
    func process() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            for name in ["process_cpu_seconds_total", "process_start_time_seconds"] {
                #expect(try await samples(of: name, client)[0]["value"].get(as: Double.self) ?? 0 > 0, "\(name)")
            }
            let memory = try await samples(of: "process_resident_memory_bytes", client)[0]["value"].get(as: Int.self)
            #expect(1 << 20...1 << 34 ~= memory ?? 0)
        }
    }
}

extension [DataItem] {
    fileprivate func element(where name: String, is value: DataItem) -> DataItem {
        first { $0[name] == value } ?? .null
    }
}
