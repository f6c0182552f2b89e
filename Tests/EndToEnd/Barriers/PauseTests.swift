import Testing

/// The ManualBarrier as a client sees it: `dispatcher.pause` and `dispatcher.resume`.
@Suite struct PauseTests {
    @Test("B23: a paused dispatcher sends nothing, and after a resume everything in order")
    func pauseHoldsAndResumeDelivers() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            let ids = try await daemon.track(1...20)

            let held = try await daemon.dispatcher()
            #expect(held["pending"].int == 20)
            #expect(held["sent"].int == 0)
            #expect(collector.requests.isEmpty)

            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 20) == ids)
            try await daemon.dispatcher(until: "an empty queue") { $0["pending"].int == 0 && $0["in_flight"].int == 0 }
            #expect(try await daemon.dispatcher()["sent"].int == 20)
        }
    }

    @Test("B10: status and both lists show a pause, its reason and its start")
    func pauseIsExplained() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let before = try await daemon.barrier("ManualBarrier:collect")
            #expect(before["states"]["collect"] == "open")

            try await daemon.pause("collect", ["reason": "key rotation"])
            let dispatcher = try await daemon.dispatcher()
            #expect(dispatcher["state"] == "blocked")
            #expect(dispatcher["blocked_by"] == ["ManualBarrier:collect"])

            let barrier = try await daemon.barrier("ManualBarrier:collect")
            #expect(barrier["kind"] == "ManualBarrier")
            #expect(barrier["scopes"] == ["collect"])
            #expect(barrier["states"] == ["collect": "closed"])
            #expect(barrier["flushable"] == false)
            #expect(barrier["word"] == "manual")
            #expect(barrier["reason"] == "key rotation")
            let since = try #require(barrier["since"].string)
            #expect(since.wholeMatch(of: timestampPattern) != nil)

            let status = try await daemon.ask("status")
            #expect(status["dispatchers"].elements.map(\.["blocked_by"]) == [["ManualBarrier:collect"]])
            #expect(
                status["barriers"].elements.contains {
                    $0["id"] == "ManualBarrier:collect" && $0["reason"] == "key rotation"
                })
        }
    }

    @Test("B23: a resumed dispatcher is open, without the reason")
    func resumeOpens() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause("collect", ["reason": "lunch"])
            try await daemon.resume()
            #expect(try await daemon.dispatcher().contains(["state": "open", "blocked_by": []]))
            let barrier = try await daemon.barrier("ManualBarrier:collect")
            #expect(barrier["states"] == ["collect": "open"])
            #expect(barrier["reason"] == .null)
        }
    }

    @Test("B23: a pause survives SIGKILL with its reason, and blocks stored events", arguments: [false, true])
    func pauseSurvivesKill(flushable: Bool) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["flush_on": ["start": false]])
            try await daemon.pause("collect", ["reason": "audit", "flushable": .bool(flushable)])
            let ids = try await daemon.track(1...3)
            try await daemon.killNow()
            try await daemon.start()

            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 3]))
            let barrier = try await daemon.barrier("ManualBarrier:collect")
            #expect(barrier["reason"] == "audit")
            #expect(barrier["flushable"] == .bool(flushable))
            #expect(collector.requests.isEmpty)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
        }
    }

    @Test("B23: a resume survives a restart too")
    func resumeSurvivesRestart() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            try await daemon.resume()
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test("B6: closing a barrier never cancels a batch in flight")
    func pauseLeavesTheBatchInFlight() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await daemon.track(1...2)
            try await collector.requests(atLeast: 1)
            try await daemon.pause()
            collector.release()

            try await daemon.dispatcher(until: "the first batch is settled") { $0["in_flight"].int == 0 }
            #expect(try await daemon.dispatcher().contains(["sent": 1, "pending": 1, "state": "blocked"]))
            #expect(collector.acceptedIDs == ["e1"])
        }
    }

    @Test("B1: pausing one dispatcher leaves the others open")
    func pauseIsForOneDispatcher() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let other = try scene.collector()
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": collector.dispatcher(), "other": other.dispatcher()]
            ])
            try await daemon.pause("collect")
            let ids = try await daemon.track(1...5)
            #expect(try await other.acceptedIDs(atLeast: 5) == ids)
            #expect(collector.requests.isEmpty)
            #expect(try await daemon.dispatcher("other")["state"] == "open")
        }
    }
}
