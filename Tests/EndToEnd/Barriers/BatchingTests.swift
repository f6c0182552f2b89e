import Testing

/// The BatchingBarrier in a running service.
@Suite struct BatchingTests {
    /// Starts a daemon whose dispatcher `collect` waits for full batches, with no flush at start or shutdown.
    private func daemon(_ scene: Scene, _ collector: Collector, _ batching: JSON, _ settings: JSON = [:]) async throws
        -> Daemon
    {
        let barrier: JSON = ["barrier_id": "BatchingBarrier", "scopes": ["collect"], "configuration": batching]
        return try await scene.daemon(
            sendingTo: collector, settings,
            top: ["barriers": ["BatchingBarrier": barrier], "flush_on": ["start": false, "shutdown": false]])
    }

    @Test("B22: the barrier blocks until the batch is full, which is then sent as one")
    func holdsUntilFull() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["batch_size": 5])
            try await daemon.track(1...4)
            let held = try await daemon.dispatcher()
            #expect(held.contains(["state": "blocked", "blocked_by": ["BatchingBarrier"], "pending": 4, "sent": 0]))
            let barrier = try await daemon.barrier("BatchingBarrier")
            #expect(barrier.contains(["word": "batching", "flushable": true, "states": ["collect": "closed"]]))
            #expect(barrier["configuration"]["batch_size"] == 5)
            #expect(collector.requests.isEmpty)

            try await daemon.track(5...5)
            try await collector.acceptedIDs(atLeast: 5)
            #expect(collector.accepted.map(\.ids) == [["e1", "e2", "e3", "e4", "e5"]])
        }
    }

    @Test("B22: after a batch the remaining events wait for a full batch again")
    func restWaitsAgain() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["batch_size": 3])
            try await daemon.track(1...3)
            try await collector.acceptedIDs(atLeast: 3)
            try await daemon.track(4...5)
            let held = try await daemon.dispatcher(until: "the first batch is settled") { $0["in_flight"].int == 0 }
            #expect(held.contains(["state": "blocked", "pending": 2, "sent": 3]))
            try await daemon.track(6...6)
            try await collector.acceptedIDs(atLeast: 6)
            #expect(collector.accepted.map(\.ids) == [["e1", "e2", "e3"], ["e4", "e5", "e6"]])
        }
    }

    @Test("B22: a batch size over the dispatch limit counts as the dispatch limit")
    func dispatchLimitIsEnough() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["batch_size": 100], ["dispatch_limit": 2])
            try await daemon.track(1...2)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
        }
    }

    @Test("B22: after max_wait_ms a single event is sent")
    func loneEventGoesAfterAWhile() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await daemon(scene, collector, ["batch_size": 100, "max_wait_ms": 300])
            let start = ContinuousClock.now
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            // Ages are counted in whole milliseconds of the daemon's clock.
            #expect(ContinuousClock.now - start > .milliseconds(290))
        }
    }

    @Test("B22: batch size and wait are evaluated per dispatcher")
    func countsPerDispatcher() async throws {
        try await withScene { scene in
            let (collector, other) = (try scene.collector(), try scene.collector())
            let barrier: JSON = [
                "barrier_id": "BatchingBarrier", "scopes": ["collect", "other"], "configuration": ["batch_size": 3],
            ]
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": collector.dispatcher(), "other": other.dispatcher()],
                "barriers": ["BatchingBarrier": barrier], "flush_on": ["start": false],
            ])
            let client = try await daemon.connect()
            for id in ["a", "b", "c"] {
                let routes: JSON = id == "a" ? ["other"] : ["collect", "other"]
                _ = try await client.result("track", ["event": "x", "id": .string(id), "dispatchers": routes])
            }
            #expect(try await other.acceptedIDs(atLeast: 3) == ["a", "b", "c"])
            #expect(try await daemon.dispatcher("collect").contains(["state": "blocked", "pending": 2]))
            #expect(try await daemon.barrier("BatchingBarrier")["states"]["collect"] == "closed")
        }
    }

    @Test("B22: without configuration there is no batching")
    func offUntilConfigured() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let barriers = try await daemon.ask("barrier.list")["barriers"].elements
            #expect(barriers.allSatisfy { $0["kind"] != "BatchingBarrier" || $0["scopes"] == [] })
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }
}
