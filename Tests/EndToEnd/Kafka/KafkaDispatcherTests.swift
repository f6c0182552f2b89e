import Foundation
import Testing

/// The `kafka` dispatcher with brokers that the test controls.
@Suite struct KafkaDispatcherTests {
    /// Tracks events with the keys `k0`, `k1` and so on in rotation.
    private func track(_ numbers: ClosedRange<Int>, keys: Int, on daemon: Daemon) async throws {
        let client = try await daemon.connect()
        defer { client.close() }
        for number in numbers {
            let event: JSON = [
                "event": "order", "id": .string("e\(number)"), "key": .string("k\(number % keys)"),
                "data": ["n": .number(Double(number))],
            ]
            _ = try await client.result("track", event)
        }
    }

    /// Returns the first arrival of each event, grouped by key, in the order of the partitions.
    private func firsts(_ messages: [KafkaCluster.Message]) -> [String: [Int]] {
        var seen: Set<String> = []
        let firsts = messages.filter { seen.insert($0.id ?? "").inserted }
        return Dictionary(grouping: firsts) { $0.key ?? "" }.mapValues { $0.compactMap { $0.event["data"]["n"].int } }
    }

    @Test("K6: an event is one message with its key, with id, name and time as headers, and the usual body")
    func delivered() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            try await track(1...120, keys: 7, on: daemon)
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 120 }
            #expect(entry.contains(["kind": "kafka", "pending": 0, "last_error": .null, "state": "open"]))
            let messages = try await cluster.messages(atLeast: 120)
            #expect(Set(messages.compactMap(\.id)) == Set((1...120).map { "e\($0)" }) && messages.count == 120)
            for message in messages {
                let event = message.event
                #expect(message.key == event["key"].string)
                let headers = ["id": event["id"], "event": event["event"], "time": event["time"]]
                #expect(message.headers == headers.compactMapValues(\.string))
                #expect(event["attempt"] == 1 && event["seq"].int != nil && event["received_at"].string != nil)
            }
            #expect(try await daemon.stop() == 0)
        }
    }

    @Test("Q2, K6: events of a key stay in order and in one partition")
    func order() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            try await track(1...200, keys: 5, on: daemon)
            let firsts = firsts(try await cluster.messages(atLeast: 200))
            for key in 0..<5 { #expect(firsts["k\(key)"] == (1...200).filter { $0 % 5 == key }) }
        }
    }

    @Test("P4, K6: the transformed key determines the partition, and without a key a message has none")
    func transformedKey() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": cluster.dispatcher()],
                "transformations": [
                    [
                        "id": "t", "scopes": ["dispatcher:collect"], "remove": ["key"],
                        "when": ["operator": "equals", "path": "key", "value": "k0"],
                    ],
                    [
                        "id": "u", "scopes": ["dispatcher:collect"], "set": ["key": "other"],
                        "when": ["operator": "equals", "path": "key", "value": "k1"],
                    ],
                ],
            ])
            try await track(1...3, keys: 3, on: daemon)
            let messages = try await cluster.messages(atLeast: 3)
            let keys = Dictionary(uniqueKeysWithValues: messages.map { ($0.id ?? "", $0.key) })
            #expect(keys == ["e1": "other", "e2": "k2", "e3": String?.none])
        }
    }

    @Test("D6, K6: a message set that is too large is halved, and no event is lost")
    func tooLargeTogether() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher()]])
            try await daemon.pause()
            try await track(1...20, keys: 1, on: daemon)
            try await cluster.order("fail 10 2")
            try await daemon.resume()
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 20 }
            #expect(entry["dead"] == 0)
            #expect(firsts(try await cluster.messages(atLeast: 20)) == ["k0": Array(1...20)])
        }
    }

    @Test(
        "D3, K6: a single event that is too large or refused is dead-lettered",
        arguments: [(10, "too_large"), (87, "refused")])
    func refused(code: Int, reason: String) async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let daemon = try await scene.daemon(["dispatchers": ["collect": cluster.dispatcher(["dispatch_limit": 1])]])
            // The first refusal is of a message set, which could contain other events. The second is of the event
            // alone.
            try await cluster.order("fail \(code) 2")
            try await track(1...1, keys: 1, on: daemon)
            _ = try await daemon.dispatcher(until: "the event is dead-lettered") { $0["dead"] == 1 }
            try await track(2...3, keys: 1, on: daemon)
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 2 && $0["dead"] == 1 }
            #expect(entry["pending"] == 0)
            let deadLetters = try await daemon.ask("dead_letters.list", ["dispatcher": "collect"])["dead_letters"]
                .elements
            #expect(deadLetters.map { $0["reason"].string } == [reason])
            #expect(try await cluster.messages(atLeast: 2).count == 2)
        }
    }

    @Test("K6: events refused temporarily are retried without a duplicate, a charge or a log line")
    func retried() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            let settings = cluster.dispatcher(["max_attempts": 1])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            // Too few replicas in sync, no leader, request timed out.
            for code in [19, 6, 7] { try await cluster.order("fail \(code) 1") }
            try await track(1...20, keys: 3, on: daemon)
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 20 && $0["dead"] == 0 }
            #expect(try await cluster.messages(atLeast: 20).count == 20)
        }
    }

    @Test(
        "D7, K6: a missing permission is reported at once, and with on_unauthorized the dispatcher is blocked until resumed"
    )
    func notAllowed() async throws {
        try await withScene { scene in
            let cluster = try await scene.kafkaCluster()
            try await cluster.order("fail 29 3")
            let settings = cluster.dispatcher(["on_unauthorized": "pause", "max_attempts": 1])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await track(1...1, keys: 1, on: daemon)
            for attempt in 1...3 {
                let held = try await daemon.dispatcher(until: "the dispatcher is blocked") {
                    $0["blocked_by"].description.contains("ManualBarrier:collect")
                }
                #expect(held["last_error"] == "Kafka: not allowed to write to the topic", "\(attempt)")
                #expect(held["dead"] == 0)
                try await daemon.resume()
            }
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 1 }
        }
    }

    @Test(
        "K6: the error of a topic that cannot be used is reported, and pending events are delivered when it is gone",
        arguments: [
            (29, "Kafka: not allowed to write to the topic"), (31, "Kafka: not allowed to write to the topic"),
            (7, "Kafka: the brokers are not ready"),
        ])
    func topicError(code: Int, words: String) async throws {
        try await withScene(waitsLong: true) { scene in
            let cluster = try await scene.kafkaCluster()
            try await cluster.order("topic-error shop \(code)")
            let settings = cluster.dispatcher(["max_attempts": 1, "timeout_ms": 3000])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await track(1...3, keys: 1, on: daemon)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"].string == words)
            #expect(waiting["dead"] == 0)
            try await cluster.order("topic-error shop 0")
            #expect(firsts(try await cluster.messages(atLeast: 3)) == ["k0": [1, 2, 3]])
        }
    }

    @Test("K6: a missing topic is reported, and pending events are delivered when it exists")
    func missingTopic() async throws {
        try await withScene(waitsLong: true) { scene in
            let cluster = try await scene.kafkaCluster()
            try await cluster.order("topic-error shop 3")
            let settings = cluster.dispatcher(["max_attempts": 1, "timeout_ms": 3000])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await track(1...3, keys: 1, on: daemon)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"] == "Kafka: the topic does not exist")
            #expect(waiting["dead"] == 0)
            try await cluster.order("topic-error shop 0")
            #expect(firsts(try await cluster.messages(atLeast: 3)) == ["k0": [1, 2, 3]])
        }
    }
}
