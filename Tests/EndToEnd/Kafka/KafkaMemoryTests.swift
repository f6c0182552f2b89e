import Foundation
import Testing

/// The memory that a producer needs. Each event is nearly a megabyte.
@Suite struct KafkaMemoryTests {
    private static let data: JSON = ["text": .string(String(repeating: "x", count: 900_000))]
    /// The additional memory that the daemon may use, in KiB: a few batches of one event, and the overhead of a
    /// sanitizer. It is a fifth of the size of the pending events.
    private static let allowed = 20_000

    /// Creates a daemon with batches of one event, and tracks `events` events.
    private func daemon(for cluster: KafkaCluster, events: Int, in scene: Scene) async throws -> Daemon {
        let limits: JSON = ["dispatch_limit": 1, "byte_limit": 1_000_000, "backoff": ["base_ms": 1, "cap_ms": 1]]
        let settings = cluster.dispatcher(limits)
        let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
        try await daemon.pause()
        try await daemon.track(1...events, data: Self.data)
        return daemon
    }

    private func inFlightBytes(_ daemon: Daemon) async throws -> Int? {
        let metrics = try await daemon.ask("metrics")["metrics"].elements
        let metric = metrics.first { $0["name"] == "headgate_dispatcher_in_flight_bytes" }
        return metric?["samples"].elements.first?["value"].int
    }

    @Test("D1, K6: librdkafka holds only the events in flight, and the metrics show their size")
    func backlog() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster(of: 1)
            let daemon = try await daemon(for: cluster, events: 100, in: scene)
            let before = try daemon.residentKilobytes()
            try await cluster.order("rtt 1 60000")
            try await daemon.resume()
            try await daemon.dispatcher(until: "a batch is in flight") { $0["in_flight"] == 1 }
            #expect((900_000..<901_000).contains(try #require(await inFlightBytes(daemon))))
            try await cluster.order("rtt 1 0")
            var most = before
            try await daemon.dispatcher(until: "all are settled") { entry in
                most = max(most, (try? daemon.residentKilobytes()) ?? 0)
                return entry["sent"] == 100
            }
            #expect(most - before < Self.allowed)
            #expect(try await inFlightBytes(daemon) == 0)
        }
    }

    @Test("K6: repeatedly recreated producers do not leak memory")
    func again() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster(of: 1)
            try await cluster.order("down 1")
            let daemon = try await daemon(for: cluster, events: 1, in: scene)
            try await daemon.resume()
            try await daemon.dispatcher(until: "some attempts have failed") { $0["failed"].int ?? 0 >= 10 }
            let before = try daemon.residentKilobytes()
            try await daemon.dispatcher(until: "many attempts have failed") { $0["failed"].int ?? 0 >= 40 }
            #expect(try daemon.residentKilobytes() - before < Self.allowed / 2)
        }
    }
}
