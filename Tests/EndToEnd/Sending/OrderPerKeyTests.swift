import Testing

/// Order with several batches in flight.
@Suite struct OrderPerKeyTests {
    @Test("Q2: an event waits for an unsettled older one with its key, and others pass it")
    func waitsForItsKey() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["in_flight": 3, "dispatch_limit": 1])
            try await track(daemon, [("a1", "a")])
            try await collector.requests(atLeast: 1)
            try await track(daemon, [("a2", "a"), ("b1", "b"), ("a3", "a"), ("b2", "b")])
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["b1", "b2"])
            try await daemon.dispatcher(until: "the others are settled") { $0["sent"].int == 2 }
            #expect(try await daemon.dispatcher().contains(["in_flight": 1, "pending": 2]))
            collector.release()
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 5 }
            #expect(collector.requests.flatMap(\.ids).filter { $0.hasPrefix("a") } == ["a1", "a2", "a3"])
        }
    }

    @Test("Q2: at most in_flight batches are in flight")
    func noMore() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["in_flight": 3, "dispatch_limit": 2])
            try await daemon.pause()
            let ids = try await daemon.track(1...10)
            try await daemon.resume()
            try await collector.requests(atLeast: 3)
            #expect(try await daemon.dispatcher().contains(["in_flight": 6, "pending": 4]))
            #expect(collector.requests.count == 3)
            collector.release()
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 10 }
            #expect(Set(collector.acceptedIDs) == Set(ids))
            #expect(collector.acceptedIDs.count == 10)
        }
    }

    @Test("Q2, Q3: after SIGKILL with gaps only unsettled events are sent again, in order per key")
    func killedOverGaps() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["in_flight": 4, "dispatch_limit": 1])
            try await track(daemon, [("a1", "a")])
            try await collector.requests(atLeast: 1)
            try await track(daemon, [("b1", "b"), ("a2", "a"), ("c1", "c"), ("a3", "a")])
            try await daemon.dispatcher(until: "the others are settled") { $0["sent"].int == 2 }
            // Pausing is answered when it is written, together with everything settled before.
            try await daemon.pause()
            try await daemon.resume()
            try await daemon.killNow()
            try await daemon.start()
            try await eventually("all events of key a") {
                collector.accepted.flatMap(\.ids).filter { $0.hasPrefix("a") }.count >= 3
            }
            #expect(collector.acceptedIDs.filter { $0.hasPrefix("a") } == ["a1", "a2", "a3"])
            try await daemon.dispatcher(until: "an empty queue") { $0["pending"].int == 0 && $0["in_flight"].int == 0 }
            #expect(collector.acceptedIDs.sorted() == ["a1", "a2", "a3", "b1", "c1"])
            #expect(try await daemon.dispatcher()["sent"] == 3)
        }
    }

    @Test("Q2: with many keys and occasional failures each key arrives in order, and nothing is lost")
    func manyKeys() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            for round in 1...40 { collector.answerNext(round % 4 == 0 ? .status(503) : .accepted) }
            let daemon = try await scene.daemon(sendingTo: collector, ["in_flight": 4, "dispatch_limit": 3])
            try await track(daemon, (0..<200).map { ("e\($0)", "k\($0 * 7 % 5)") })
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 200 }
            let arrived = collector.accepted.flatMap(\.events)
            #expect(arrived.count == 200)
            for key in 0..<5 {
                let sequence = arrived.filter { $0["key"].string == "k\(key)" }.compactMap { $0["seq"].int }
                #expect(sequence.count == 40)
                #expect(sequence == sequence.sorted(), "k\(key)")
            }
        }
    }

    private func track(_ daemon: Daemon, _ events: [(id: String, key: String)]) async throws {
        let client = try await daemon.connect()
        for event in events {
            _ = try await client.result("track", ["event": "x", "id": .string(event.id), "key": .string(event.key)])
        }
    }
}
