import Testing

/// The limits of the store: refused, evicted and expired events.
@Suite struct StoreLimitTests {
    @Test("Q4: over max_events a client gets queue_full, and delivery makes room")
    func reject() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_events": 3])
            try await daemon.pause()
            let ids = try await daemon.track(1...3)
            let client = try await daemon.connect()
            let error = try await client.refusal("track", ["event": "e4", "id": "e4"])
            #expect(error["code"] == -32_000)
            #expect(error["data"]["reason"] == "queue_full")
            #expect(try await daemon.ask("status").contains(["counters": ["rejected": 1], "store": ["events": 3]]))

            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            try await daemon.dispatcher(until: "an empty queue") { $0["sent"].int == 3 }
            // The refused event was not stored, so its id is not a duplicate.
            let again = try await eventually("room for the event") {
                try? await client.result("track", ["event": "e4", "id": "e4"])
            }
            #expect(again["duplicate"] == .null)
            #expect(try await collector.acceptedIDs(atLeast: 4) == ids + ["e4"])
        }
    }

    @Test("Q4: track_many over the limit is refused as a whole")
    func rejectMany() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_events": 3])
            try await daemon.pause()
            try await daemon.track(1...1)
            let client = try await daemon.connect()
            let events = { (ids: [String]) -> JSON in ["events": .array(ids.map { ["event": "x", "id": .string($0)] })]
            }
            let error = try await client.refusal("track_many", events(["a", "b", "c"]))
            #expect(error["data"]["reason"] == "queue_full")
            #expect(try await daemon.dispatcher()["pending"] == 1)
            _ = try await client.result("track_many", events(["a", "b"]))
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "a", "b"])
        }
    }

    @Test("Q4: max_bytes counts bytes: events over it are refused, and smaller ones are accepted")
    func maxBytes() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_bytes": 4_000])
            try await daemon.pause()
            let client = try await daemon.connect()
            let large: JSON = ["event": "x", "data": ["text": .string(String(repeating: "x", count: 2_500))]]
            _ = try await client.result("track", large)
            #expect(try await client.refusal("track", large)["data"]["reason"] == "queue_full")
            _ = try await client.result("track", ["event": "small"])
            let bytes = try #require(try await daemon.ask("status")["store"]["bytes"].int)
            #expect(bytes > 2_500 && bytes <= 4_000)
        }
    }

    @Test(
        "Q4: an event larger than the store's limit is event_too_large, alone or in a list, and nothing is stored",
        arguments: ["reject", "drop_oldest"])
    func eventTooLarge(overflow: String) async throws {
        try await withScene { scene in
            let store: JSON = ["max_bytes": 20_000, "overflow": .string(overflow)]
            let daemon = try await daemon(scene, scene.collector(), store)
            try await daemon.pause()
            let client = try await daemon.connect()
            let large: JSON = ["event": "x", "data": ["text": .string(String(repeating: "x", count: 30_000))]]
            let calls: [(method: String, params: JSON)] = [
                ("track", large), ("track_many", ["events": [["event": "small"], large]]),
            ]
            for call in calls {
                let error = try await client.refusal(call.method, call.params)
                #expect(error.contains(["code": -32_000, "data": ["reason": "event_too_large"]]), "\(call.method)")
            }
            #expect(try await daemon.ask("status")["store"].contains(["events": 0, "bytes": 0]))
            #expect(try await client.result("track", ["event": "small"])["seq"] == 1)
        }
    }

    @Test("Q4: drop_oldest evicts exactly the surplus, oldest first, and counts it")
    func dropOldest() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_events": 5, "overflow": "drop_oldest"])
            try await daemon.pause()
            try await daemon.track(1...8)
            #expect(try await daemon.dispatcher().contains(["pending": 5, "evicted": 3]))
            #expect(try await daemon.ask("status").contains(["counters": ["evicted": 3], "store": ["events": 5]]))
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 5) == ["e4", "e5", "e6", "e7", "e8"])
            let done = try await daemon.dispatcher(until: "an empty queue") { $0["sent"].int == 5 }
            #expect(done.contains(["pending": 0, "dead": 0, "evicted": 3]))
        }
    }

    @Test("Q4: drop_oldest never evicts events in flight")
    func neverInFlight() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let settings: JSON = ["dispatch_limit": 2]
            let daemon = try await daemon(scene, collector, ["max_events": 5, "overflow": "drop_oldest"], settings)
            try await daemon.pause()
            try await daemon.track(1...2)
            try await daemon.resume()
            try await collector.requests(atLeast: 1)
            try await daemon.track(3...8)
            #expect(try await daemon.dispatcher().contains(["in_flight": 2, "pending": 3, "evicted": 3]))
            collector.release()
            #expect(try await collector.acceptedIDs(atLeast: 5) == ["e1", "e2", "e6", "e7", "e8"])
        }
    }

    @Test("Q4: evictions survive SIGKILL")
    func evictionOutlivesKill() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_events": 5, "overflow": "drop_oldest"])
            try await daemon.pause()
            try await daemon.track(1...12)
            // The eviction of the last events is written after them, and before this call is answered.
            try await daemon.pause("collect", ["reason": "again"])
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.dispatcher()["pending"] == 5)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 5) == (8...12).map { "e\($0)" })
        }
    }

    @Test("Q4: events older than ttl_ms are not sent, and counted as expired")
    func timeToLive() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, [:])
            try await daemon.pause()
            let client = try await daemon.connect()
            let lives: [(String, JSON)] = [("short", ["ttl_ms": 40]), ("long", ["ttl_ms": 3_600_000]), ("ever", [:])]
            for (id, life) in lives {
                _ = try await client.result("track", life.merging(["event": "x", "id": .string(id)]))
            }
            let tracked = ContinuousClock.now
            try await eventually("the time to live has passed") { ContinuousClock.now - tracked > .milliseconds(60) }
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["long", "ever"])
            let done = try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 2 }
            #expect(done.contains(["expired": 1, "pending": 0, "dead": 0]))
            #expect(try await daemon.ask("status").contains(["counters": ["expired": 1], "store": ["events": 0]]))
        }
    }

    @Test("Q4: the sweeper expires blocked events, and the service continues")
    func sweptWhileHeld() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, [:])
            try await daemon.pause()
            let client = try await daemon.connect()
            _ = try await client.result("track", ["event": "x", "id": "short", "ttl_ms": 30])
            try await daemon.track(1...1)
            let swept = try await daemon.dispatcher(until: "the event has expired") { $0["expired"].int == 1 }
            #expect(swept.contains(["state": "blocked", "pending": 1]))
            #expect(try await client.result("ping") == [:])
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test("Q4: max_age counts from receipt, even across a restart")
    func maxAge() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["max_age_s": 3_600])
            try await daemon.pause()
            try await daemon.track(1...2)
            let tracked = ContinuousClock.now
            try await daemon.killNow()
            try daemon.configure(["store": ["max_age_s": 1], "dispatchers": ["collect": collector.dispatcher([:])]])
            try await eventually("max_age has passed") { ContinuousClock.now - tracked > .milliseconds(1_050) }
            try await daemon.start()
            try await daemon.resume()
            try await daemon.track(3...3)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e3"])
            #expect(try await daemon.dispatcher(until: "the event is settled") { $0["sent"].int == 1 }["expired"] == 2)
        }
    }

    @Test("Q4: an event expires in the middle of a blocked queue, and the others arrive, even after SIGKILL")
    func expiresDeepInBacklog() async throws {
        try await withScene(waitsLong: true) { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            var kept: [String] = []
            for number in 1...20 {
                let life: JSON = number.isMultiple(of: 2) ? ["event": "x", "ttl_ms": 50] : ["event": "x"]
                let tracked = try await daemon.ask("track", life)
                if !number.isMultiple(of: 2) { kept.append(try #require(tracked["id"].string)) }
            }
            try await daemon.dispatcher(until: "ten events have expired") {
                $0["expired"].int == 10 && $0["pending"].int == 10
            }
            try await daemon.killNow()
            try await daemon.start()
            try await daemon.dispatcher(until: "the ten events have expired again") { $0["pending"].int == 10 }
            try await daemon.resume()
            try await daemon.dispatcher(until: "the rest is settled") { $0["sent"].int == 10 && $0["pending"].int == 0 }
            #expect(collector.acceptedIDs == kept)
        }
    }

    private func daemon(
        _ scene: Scene, _ collector: Collector, _ store: JSON, _ settings: JSON = [:]
    ) async throws -> Daemon {
        try await scene.daemon(sendingTo: collector, settings, top: ["store": store])
    }
}
