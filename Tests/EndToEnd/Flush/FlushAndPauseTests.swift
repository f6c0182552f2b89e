import Testing

/// Flushes against flushable and non-flushable barriers.
@Suite struct FlushAndPauseTests {
    @Test("B2, F2: a non-flushable pause blocks a flush until its timeout, and the answer names the barrier")
    func firmPauseHolds() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            try await daemon.track(1...3)
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 200])
            #expect(answer["ended"] == "timeout")
            #expect(
                answer["dispatchers"] == [
                    "collect": ["sent": 0, "failed": 0, "left": 3, "blocked_by": ["ManualBarrier:collect"]]
                ])
            #expect(collector.requests.isEmpty)
        }
    }

    @Test("F3: a flush waits behind a non-flushable pause, and continues when it ends")
    func continuesAfterResume() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: FlushTests.batching)
            try await daemon.pause()
            let ids = try await daemon.track(1...3)
            let client = try await daemon.connect()
            let flush = try await client.request("flush", ["wait": true])
            try await daemon.dispatcher(until: "a flush in progress") { $0["flushing"] == true }
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            #expect(collector.requests.isEmpty)

            // The batch is not full, so only the flush lets the three events pass.
            try await daemon.resume()
            let answer = try await client.answer(to: flush)["result"]
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"]["collect"]["sent"] == 3)
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("B23: a flush passes a flushable pause, which blocks again afterwards")
    func flushablePauseYields() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause("collect", ["flushable": true])
            #expect(try await daemon.barrier("ManualBarrier:collect")["flushable"] == true)
            let ids = try await daemon.track(1...3)
            let answer = try await daemon.ask("flush", ["wait": true])
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"]["collect"]["sent"] == 3)
            #expect(collector.acceptedIDs == ids)

            try await daemon.track(4...4)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 1]))
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("F3: a backoff delays a flush until the dispatcher may send again")
    func waitsForTheRetry() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(503), .status(503))
            let daemon = try await scene.daemon(sendingTo: collector, top: FlushTests.batching)
            try await daemon.track(1...2)
            let answer = try await daemon.ask("flush", ["wait": true])
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"]["collect"].contains(["sent": 2, "failed": 0, "left": 0]))
            #expect(collector.requests.map(\.status) == [503, 503, 200])
        }
    }

    @Test("F2: the answer has separate results for each dispatcher if one destination is down")
    func oneDeadDispatcher() async throws {
        try await withScene { scene in
            let (alive, dead) = (try scene.collector(), try scene.collector(listening: false))
            let daemon = try await scene.daemon([
                "dispatchers": ["alive": alive.dispatcher(), "dead": dead.dispatcher(OutageTests.slow)]
            ])
            try await daemon.track(1...2)
            try await daemon.dispatcher("dead", until: "a blocked dispatcher") { $0["state"] == "blocked" }
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 300])
            #expect(answer["ended"] == "timeout")
            #expect(answer["dispatchers"]["alive"]["left"] == 0)
            #expect(
                answer["dispatchers"]["dead"]
                    == ["sent": 0, "failed": 0, "left": 2, "blocked_by": ["BackoffBarrier:dead"]])
        }
    }
}
