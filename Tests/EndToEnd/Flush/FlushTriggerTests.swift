import Testing

/// Flushes that the service starts itself.
@Suite struct FlushTriggerTests {
    @Test("F5: the flush at the start sends the events behind a BatchingBarrier")
    func start() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, ["shutdown": false]))
            let ids = try await daemon.track(1...3)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 3]))
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            // Only that flush let the events pass: the next event waits.
            try await daemon.track(4...4)
            #expect(
                try await daemon.dispatcher(until: "the flush is over") { $0["flushing"] == false }
                    .contains(["state": "blocked", "pending": 1]))
        }
    }

    @Test("F5: the flush at the start continues after a very long Retry-After")
    func startAndOutage() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, ["shutdown": false]))
            let ids = try await daemon.track(1...3)
            try await daemon.killNow()
            collector.answerNext(ScriptedAnswer(status: 503, headers: ["Retry-After: 40"]))
            try await daemon.start()
            try await daemon.dispatcher(until: "a blocked dispatcher") {
                $0["blocked_by"].strings.contains("BackoffBarrier:collect")
            }
            let flushing = try await daemon.dispatcher()
            #expect(flushing["flushing"] == true)
            _ = try await daemon.ask("dispatcher.retry", ["id": "collect"])
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
        }
    }

    @Test(
        "F5: the flush at shutdown sends the events behind a BatchingBarrier, unless it is disabled",
        arguments: [true, false])
    func shutdown(isOn: Bool) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, ["shutdown": .bool(isOn), "start": false]))
            let ids = try await daemon.track(1...3)
            #expect(try await daemon.stop() == 0)
            #expect(collector.acceptedIDs == (isOn ? ids : []))
            try await daemon.start()
            #expect(try await daemon.dispatcher()["pending"].int == (isOn ? 0 : 3))
        }
    }

    @Test(
        "F5: a client that announces a new status starts a flush", arguments: ["background", "foreground", "exiting"])
    func announcedStatus(status: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, [:]))
            let ids = try await daemon.track(1...3)
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            let client = try await daemon.connect()
            _ = try await client.result("application.status", ["status": .string(status)])
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
        }
    }

    @Test("F5: each automatic flush can be disabled", arguments: ["background", "foreground", "exiting"])
    func switchedOff(status: String) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, .object([status: false])))
            try await daemon.track(1...3)
            let client = try await daemon.connect()
            _ = try await client.result("application.status", ["status": .string(status)])
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 3, "flushing": false]))
            #expect(collector.requests.isEmpty)
        }
    }

    @Test("B26, F5: going to the background blocks the dispatcher, and its flush sends the queue once")
    func backgroundWithItsBarrier() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            var configuration = configuration(collector, [:])
            configuration["barriers"]["ApplicationStatusBarrier"] = ["configuration": ["block_in_background": true]]
            let daemon = try await scene.daemon(configuration)
            let ids = try await daemon.track(1...3)
            let client = try await daemon.connect()
            _ = try await client.result("application.status", ["status": "background"])
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            try await daemon.track(4...4)
            let held = try await daemon.dispatcher(until: "the flush is over") { $0["flushing"] == false }
            #expect(held.contains(["state": "blocked", "pending": 1]))
            #expect(Set(held["blocked_by"].strings) == ["BatchingBarrier", "ApplicationStatusBarrier"])

            _ = try await client.result("application.status", ["status": "foreground"])
            #expect(try await collector.acceptedIDs(atLeast: 4) == ids + ["e4"])
        }
    }

    private func configuration(_ collector: Collector, _ occasions: JSON) -> JSON {
        [
            "dispatchers": ["collect": collector.dispatcher()], "barriers": FlushTests.batching["barriers"],
            "flush_on": occasions,
        ]
    }
}
