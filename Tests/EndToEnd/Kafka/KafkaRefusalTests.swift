import Foundation
import Testing

/// Brokers that refuse some events and accept the others.
@Suite struct KafkaRefusalTests {
    /// Tracks events, some of which the broker refuses.
    private func track(_ count: Int, poison: (Int) -> Bool, on daemon: Daemon) async throws {
        let client = try await daemon.connect()
        defer { client.close() }
        let events = (1...count).map { number -> JSON in
            [
                "event": poison(number) ? "poison" : "good", "key": .string("k\(number % 10)"),
                "data": ["n": JSON(number)],
            ]
        }
        for start in stride(from: 0, to: count, by: 100) {
            let part = Array(events[start..<min(count, start + 100)])
            _ = try await client.result("track_many", ["events": .array(part)])
        }
    }

    /// Checks that each key's events are in order in their partition.
    private func expectOrder(_ stored: [[JSON]], at location: SourceLocation = #_sourceLocation) {
        for events in stored {
            for (key, events) in Dictionary(grouping: events, by: { $0["key"].string ?? "" }) {
                let numbers = events.compactMap { $0["data"]["n"].int }
                #expect(numbers == numbers.sorted(), "\(key)", sourceLocation: location)
            }
        }
    }

    @Test(
        "D6, D9, K6: of a hundred events only the refused one is dead-lettered, at once and without charge, and keys keep order",
        arguments: [(87, "refused", 25, 1), (10, "too_large", 500, 1), (87, "refused", 100, 4)])
    func oneInAHundred(code: Int, reason: String, limit: Int, inFlight: Int) async throws {
        try await withScene(waitsLong: true) { scene in
            let broker = try await scene.strictBroker()
            try await broker.order("refuse \(code) poison")
            let settings = broker.dispatcher([
                "dispatch_limit": JSON(limit), "byte_limit": 1_000_000, "in_flight": JSON(inFlight),
                // With such a backoff the test would notice any wait.
                "backoff": ["base_ms": 300_000, "cap_ms": 300_000],
            ])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.pause()
            try await track(1000, poison: { $0 % 100 == 37 }, on: daemon)
            try await daemon.resume()
            try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 990 && $0["dead"] == 10 }
            let good = (1...1000).filter { $0 % 100 != 37 }
            #expect(try await broker.storedNumbers() == good)
            expectOrder(try await broker.stored())
            let deadLetters = try await daemon.ask("dead_letters.list", ["dispatcher": "collect"])["dead_letters"]
                .elements
            #expect(deadLetters.count == 10)
            for deadLetter in deadLetters { #expect(deadLetter.contains(["reason": .string(reason), "attempts": 1])) }
        }
    }

    @Test(
        "D9, K6: errors of the topic, the settings or the cluster cause no dead letter and no charge",
        arguments: [76, 43, 35, 21, 17, 55, 90, 29])
    func outages(code: Int) async throws {
        try await withScene { scene in
            let broker = try await scene.strictBroker(partitions: 1)
            try await broker.order("fail \(code) 2")
            let daemon = try await scene.daemon(["dispatchers": ["collect": broker.dispatcher(["max_attempts": 1])]])
            try await track(10, poison: { _ in false }, on: daemon)
            let entry = try await daemon.dispatcher(until: "all are settled") { $0["sent"] == 10 }
            #expect(entry["dead"] == 0)
            #expect(try await broker.storedNumbers() == Array(1...10))
            let events = try await broker.stored().joined()
            #expect(events.allSatisfy { $0["attempt"] == 1 })
            expectOrder(try await broker.stored())
        }
    }

    @Test(
        "Q2, K6: with occasional permanent refusals the events of a key stay in order",
        arguments: [2, 87, 90])
    func order(code: Int) async throws {
        try await withScene(waitsLong: true) { scene in
            let broker = try await scene.strictBroker()
            let settings = broker.dispatcher(["dispatch_limit": 200, "byte_limit": 1_000_000, "max_attempts": 100])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            try await daemon.pause()
            try await track(4000, poison: { _ in false }, on: daemon)
            try await daemon.resume()
            var sent = 0
            while sent < 3000 {
                try await broker.order("fail \(code) 1")
                let before = sent
                let entry = try await daemon.dispatcher(until: "another delivery") { $0["sent"].int ?? 0 > before }
                sent = entry["sent"].int ?? 0
            }
            try await broker.order("fail \(code) 0")
            let entry = try await daemon.dispatcher(until: "all are settled") {
                $0["pending"] == 0 && $0["in_flight"] == 0
            }
            let stored = try await broker.stored()
            expectOrder(stored)
            #expect(try await broker.storedNumbers().count == entry["sent"].int)
        }
    }

    @Test(
        "Q2, K6: a new producer's first set that is refused, for good or for now, is not stored behind a later one",
        arguments: ["refuse 87 poison", "fail 87 1", "fail 19 1"])
    func firstSet(trouble: String) async throws {
        try await withScene { scene in
            let broker = try await scene.strictBroker(partitions: 1)
            try await broker.order(trouble)
            try await broker.order("hold")
            let settings = broker.dispatcher(["dispatch_limit": 2, "in_flight": 4])
            let daemon = try await scene.daemon(["dispatchers": ["collect": settings]])
            let client = try await daemon.connect()
            defer { client.close() }
            _ = try await client.result("track_many", ["events": [event("poison", 1), event("good", 2)]])
            _ = try await eventually("the first message set") { try await broker.order("requests") == "0" ? nil : true }
            for number in 3...6 { _ = try await client.result("track", event("good", number)) }
            try await daemon.dispatcher(until: "later events are in flight") { $0["in_flight"].int ?? 0 > 2 }
            try await broker.order("release")
            try await daemon.dispatcher(until: "all are settled") { $0["pending"] == 0 && $0["in_flight"] == 0 }
            let stored = try await broker.stored().joined().compactMap { $0["data"]["n"].int }
            #expect(stored.suffix(5) == [2, 3, 4, 5, 6])
            #expect(stored.count == Set(stored).count)
        }
    }

    private func event(_ name: String, _ number: Int) -> JSON {
        ["event": .string(name), "key": "k", "data": ["n": JSON(number)]]
    }
}
