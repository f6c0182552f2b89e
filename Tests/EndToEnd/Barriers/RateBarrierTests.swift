import Testing

@Suite struct RateBarrierTests {
    @Test("B27: a burst is sent at once, and the rest at the rate")
    func paces() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, ["collect": collector.dispatcher(["dispatch_limit": 1])], 10, burst: 3)
            try await daemon.pause()
            let ids = try await daemon.track(1...10)
            let start = ContinuousClock.now
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 10) == ids)
            // Seven events waited for one token each.
            #expect(ContinuousClock.now - start > .milliseconds(690))
        }
    }

    @Test("B27: without tokens the barrier is closed, and no flush passes")
    func blocksFlush() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(
                scene, ["collect": collector.dispatcher(["dispatch_limit": 1])], 0.001, burst: 2)
            try await daemon.track(1...4)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 200])
            #expect(answer["ended"] == "timeout")
            #expect(answer["dispatchers"]["collect"].contains(["left": 2, "blocked_by": ["RateBarrier"]]))
            #expect(try await daemon.barrier("RateBarrier").contains(["word": "rate", "flushable": false]))
            #expect(collector.requests.count == 2)
        }
    }

    @Test("B27: each dispatcher has its own bucket")
    func bucketPerDispatcher() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let limit: JSON = ["dispatch_limit": 1]
            let daemon = try await daemon(
                scene, ["one": one.dispatcher(limit), "two": two.dispatcher(limit)], 0.001, burst: 2)
            let client = try await daemon.connect()
            for id in ["a", "b", "c"] {
                _ = try await client.result("track", ["event": "x", "id": .string(id), "dispatchers": ["one"]])
            }
            try await one.acceptedIDs(atLeast: 2)
            try await daemon.dispatcher("one", until: "its bucket is empty") { $0["state"] == "blocked" }
            #expect(try await daemon.dispatcher("two")["state"] == "open")
            _ = try await client.result("track", ["event": "x", "id": "d", "dispatchers": ["two"]])
            #expect(try await two.acceptedIDs(atLeast: 1) == ["d"])
            #expect(one.acceptedIDs == ["a", "b"])
        }
    }

    private func daemon(_ scene: Scene, _ dispatchers: JSON, _ rate: JSON, burst: JSON) async throws -> Daemon {
        let configuration: JSON = ["per_second": rate, "burst": burst]
        return try await scene.daemon([
            "dispatchers": dispatchers,
            "barriers": ["RateBarrier": ["scopes": ["all"], "configuration": configuration]],
        ])
    }
}
