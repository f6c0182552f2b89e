import Foundation
import Testing

/// Brokers that fail, one or all, while events arrive.
@Suite struct KafkaOutageTests {
    @Test("D9, K6: unavailable brokers cause no dead letters, and pending events are delivered when they are back")
    func away() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            try await cluster.setAll("down")
            let settings = cluster.dispatcher(["max_attempts": 1])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let ids = try await daemon.track(1...30)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"] == "Kafka: no broker could be reached")
            #expect(waiting["dead"] == 0)
            try await cluster.setAll("up")
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 30 && $0["last_error"] == .null }
            #expect(try await cluster.messages(atLeast: 30).compactMap(\.id).sorted() == ids.sorted())
        }
    }

    @Test("K6: brokers that stop after deliveries and return cause no loss and no duplicates")
    func returned() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            try await daemon.track(1...10)
            try await daemon.dispatcher(until: "the first are settled") { $0["sent"] == 10 }
            try await cluster.setAll("down")
            try await daemon.track(11...20)
            try await cluster.setAll("up")
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 20 }
            #expect(try await cluster.messages(atLeast: 20).count == 20)
        }
    }

    @Test("K6: no event is lost when a broker fails and another leads its partitions")
    func leaderDied() async throws {
        try await withScene(waitsLong: true) { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher(["timeout_ms": 5000])]])
            let socketPath = daemon.socketPath
            async let tracked = StubbornTracker(name: "a", count: 2000, socketPath: socketPath).run()
            try await daemon.dispatcher(until: "more than 200 events are delivered") { $0["sent"].int ?? 0 > 200 }
            try await cluster.order("down 1")
            for partition in 0..<3 { try await cluster.order("leader shop \(partition) 2") }
            let ids = try await tracked.acknowledged
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 2000 }
            let stored = try await cluster.messages(atLeast: 2000)
            #expect(Set(stored.compactMap(\.id)) == Set(ids))
        }
    }

    @Test("P1, K6: a killed daemon resends its unsettled events, and loses none")
    func killed() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            for broker in 1...3 { try await cluster.order("rtt \(broker) 200") }
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            let ids = try await daemon.track(1...100)
            try await daemon.killNow()
            for broker in 1...3 { try await cluster.order("rtt \(broker) 0") }
            try await daemon.start()
            try await daemon.dispatcher(until: "no event is pending") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            #expect(Set(try await cluster.messages(atLeast: 100).compactMap(\.id)) == Set(ids))
        }
    }

    @Test("D11: an orderly stop delivers the queued events, and leaves nothing to resend")
    func orderlyStop() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            let ids = try await daemon.track(1...200)
            #expect(try await daemon.stop() == 0)
            #expect(try await cluster.messages(atLeast: 200).compactMap(\.id).sorted() == ids.sorted())
            try await daemon.start()
            #expect(try await daemon.dispatcher().contains(["pending": 0, "sent": 0]))
        }
    }

    @Test("D11: silent brokers delay neither a stop nor a change of settings")
    func silentBrokers() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            for broker in 1...3 { try await cluster.order("rtt \(broker) 60000") }
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": cluster.dispatcher()], "shutdown_timeout_ms": 100,
            ])
            try await daemon.track(1...10)
            try await daemon.set(["dispatchers": ["collect": ["topic": "other"]]])
            // The loop answers even while librdkafka waits.
            #expect(try await daemon.dispatcher()["sent"] == 0)
            #expect(try await daemon.stop() == 0)
            for broker in 1...3 { try await cluster.order("rtt \(broker) 0") }
            try await daemon.start()
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 10 }
        }
    }
}
