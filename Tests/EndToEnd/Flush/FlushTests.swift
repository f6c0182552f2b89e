import Testing

/// Flushes of a batched dispatcher.
@Suite struct FlushTests {
    static let batching: JSON = [
        "barriers": [
            "BatchingBarrier": [
                "barrier_id": "BatchingBarrier", "scopes": ["collect"], "configuration": ["batch_size": 100],
            ]
        ],
        "flush_on": ["start": false, "shutdown": false],
    ]

    @Test("B2: a flush ignores a closed BatchingBarrier, and its answer has the sent events")
    func overridesBatching() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.batching)
            let ids = try await daemon.track(1...3)
            #expect(collector.requests.isEmpty)

            let answer = try await daemon.ask("flush", ["wait": true])
            #expect(answer["ended"] == "settled")
            #expect(answer["flush"] != .null)
            #expect(answer["dispatchers"] == ["collect": ["sent": 3, "failed": 0, "left": 0, "blocked_by": []]])
            #expect(collector.acceptedIDs == ids)

            // A flush does not change the barrier: the next event waits again.
            try await daemon.track(4...4)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 1, "flushing": false]))
        }
    }

    @Test("F1: a flush of an empty queue ends at once")
    func emptyFlushEnds() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: Self.batching)
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 0])
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"] == ["collect": ["sent": 0, "failed": 0, "left": 0, "blocked_by": []]])
        }
    }

    @Test("F1: a flush of an empty queue ends at once even behind a non-flushable barrier")
    func emptyFlushEndsWhilePaused() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 0])
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"]["collect"]["left"] == 0)
        }
    }

    @Test("F1: events tracked after the start of a flush are not covered")
    func laterEventsAreNotInIt() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 3], top: Self.batching)
            try await daemon.track(1...2)
            let client = try await daemon.connect()
            let flush = try await client.request("flush", ["wait": true])
            try await collector.requests(atLeast: 1)
            try await daemon.track(3...4)
            collector.release()

            let answer = try await client.answer(to: flush)["result"]
            #expect(answer["dispatchers"] == ["collect": ["sent": 2, "failed": 0, "left": 0, "blocked_by": []]])
            #expect(collector.acceptedIDs == ["e1", "e2"])
            #expect(try await daemon.dispatcher().contains(["pending": 2, "state": "blocked"]))
        }
    }

    @Test("F2: refused events count as settled and failed")
    func failedEventsSettle() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(400))
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.batching)
            try await daemon.track(1...2)
            let answer = try await daemon.ask("flush", ["wait": true])
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"] == ["collect": ["sent": 0, "failed": 2, "left": 0, "blocked_by": []]])
        }
    }

    @Test("F4: two flushes of one dispatcher run together, and each gets its own answer")
    func flushesMerge() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.batching)
            try await daemon.track(1...3)
            let client = try await daemon.connect()
            let first = try await client.request("flush", ["wait": true, "flush": "mine"])
            try await collector.requests(atLeast: 1)
            let second = try await client.request("flush", ["wait": true])
            #expect(try await client.result("ping") == [:])
            collector.release()

            let firstAnswer = try await client.answer(to: first)["result"]
            let secondAnswer = try await client.answer(to: second)["result"]
            #expect(firstAnswer.contains(["flush": "mine", "ended": "settled"]))
            #expect(secondAnswer["ended"] == "settled")
            #expect(firstAnswer["flush"] != secondAnswer["flush"])
            #expect(firstAnswer["dispatchers"]["collect"]["sent"] == 3)
            #expect(collector.acceptedIDs == ["e1", "e2", "e3"])
        }
    }

    @Test("F1: a flush covers only the named dispatchers")
    func flushesWhatItNames() async throws {
        try await withScene { scene in
            let (collector, other) = (try scene.collector(), try scene.collector())
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": collector.dispatcher(), "other": other.dispatcher()],
                "barriers": [
                    "BatchingBarrier": [
                        "barrier_id": "BatchingBarrier", "scopes": "all", "configuration": ["batch_size": 9],
                    ]
                ],
                "flush_on": ["start": false],
            ])
            try await daemon.track(1...2)
            let answer = try await daemon.ask("flush", ["wait": true, "dispatchers": ["other"]])
            #expect(answer["dispatchers"] == ["other": ["sent": 2, "failed": 0, "left": 0, "blocked_by": []]])
            #expect(other.acceptedIDs == ["e1", "e2"])
            #expect(collector.requests.isEmpty)
            #expect(try await daemon.dispatcher("collect")["pending"] == 2)
        }
    }

    @Test("F4: the id of a running flush is a conflict, and that of an ended one can be reused")
    func idInUse() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.batching)
            let ids = try await daemon.track(1...1)
            let client = try await daemon.connect()
            let first = try await client.request("flush", ["wait": true, "flush": "mine"])
            try await collector.requests(atLeast: 1)
            for wait in [true, false] {
                let error = try await client.refusal("flush", ["flush": "mine", "wait": .bool(wait)])
                #expect(error.contains(["code": -32_000, "data": ["reason": "conflict"]]))
            }
            collector.release()
            #expect(try await client.answer(to: first)["result"]["ended"] == "settled")
            #expect(try await client.result("flush", ["wait": true, "flush": "mine"])["ended"] == "settled")
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("F2: cancelling an unknown or ended flush is not_found")
    func cancelsNothing() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            try await daemon.track(1...1)
            let client = try await daemon.connect()
            let flush = try await client.request("flush", ["wait": true, "flush": "mine"])
            for id in ["other", "other"] { try await expectNone(id, client) }
            #expect(try await client.result("flush.cancel", ["flush": "mine"]) == [:])
            #expect(try await client.answer(to: flush)["result"]["ended"] == "cancelled")
            for id in ["mine", "mine"] { try await expectNone(id, client) }
        }
    }

    private func expectNone(_ flush: String, _ client: LineClient) async throws {
        let error = try await client.refusal("flush.cancel", ["flush": .string(flush)])
        #expect(error.contains(["code": -32_000, "data": ["reason": "not_found"]]), "\(flush)")
    }

    @Test("Without wait a flush is answered at once with its id, and continues")
    func flushWithoutWaiting() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: Self.batching)
            let ids = try await daemon.track(1...2)
            let answer = try await daemon.ask("flush")
            #expect(answer["flush"].string?.isEmpty == false)
            #expect(answer["ended"] == .null)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ids)
        }
    }
}
