import Testing

/// A wrong key is an error of the configuration, not of the event.
@Suite struct UnauthorizedTests {
    @Test(
        "D7: on_unauthorized pause blocks after 401 and 403 until a resume, without dead letters",
        arguments: [401, 403])
    func heldUntilResume(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(status))
            let daemon = try await scene.daemon(sendingTo: collector, ["on_unauthorized": "pause"])
            try await daemon.track(1...1)
            let held = try await held(daemon)
            #expect(held.contains(["pending": 1, "dead": 0, "sent": 0]))
            #expect(held["last_error"].string?.contains("\(status)") == true)
            try await daemon.track(2...3)
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            #expect(collector.requests.count == 1)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "e2", "e3"])
            #expect(try await daemon.counter("dead") == 0)
        }
    }

    @Test("D7: a change of the dispatcher's settings also opens it, but not one of another dispatcher")
    func heldUntilChange() async throws {
        try await withScene { scene in
            let (collector, other) = (try scene.collector(), try scene.collector())
            collector.answerNext(.status(401))
            let configuration = { (key: JSON, limit: JSON) -> JSON in
                let settings: JSON = ["on_unauthorized": "pause", "headers": ["x-key": key]]
                return [
                    "dispatchers": [
                        "collect": collector.dispatcher(settings), "other": other.dispatcher(["dispatch_limit": limit]),
                    ]
                ]
            }
            let daemon = try await scene.daemon(configuration("wrong", 5))
            try await daemon.track(1...1)
            _ = try await held(daemon)
            try await daemon.reload(configuration("wrong", 6))
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "pending": 1]))
            try await daemon.reload(configuration("right", 6))
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(collector.requests.compactMap { $0.headers["x-key"] } == ["wrong", "right"])
        }
    }

    @Test("D7: a flush does not pass that block")
    func flushDoesNotPass() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(401))
            let daemon = try await scene.daemon(sendingTo: collector, ["on_unauthorized": "pause"])
            try await daemon.track(1...1)
            let barriers = try await held(daemon)["blocked_by"]
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 200])
            #expect(answer["ended"] == "timeout")
            #expect(answer["dispatchers"]["collect"].contains(["left": 1, "blocked_by": barriers]))
            #expect(collector.requests.count == 1)
        }
    }

    @Test("D7: by default such an event is dead-lettered")
    func deadByDefault() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(401))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await daemon.track(1...2)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            #expect(try await daemon.dispatcher(until: "both are settled") { $0["sent"] == 1 }["dead"] == 1)
        }
    }

    private func held(_ daemon: Daemon) async throws -> JSON {
        try await daemon.dispatcher(until: "the dispatcher is blocked") {
            $0["state"] == "blocked" && $0["in_flight"] == 0 && !$0["blocked_by"].elements.isEmpty
        }
    }
}
