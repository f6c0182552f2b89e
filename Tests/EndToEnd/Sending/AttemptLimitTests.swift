import Testing

/// The limits after which an event is dead-lettered.
@Suite struct AttemptLimitTests {
    @Test("D9: after max_attempts an event is dead-lettered, and the next one is sent")
    func maxAttempts() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(500), .status(404), .status(501))
            let daemon = try await scene.daemon(sendingTo: collector, ["max_attempts": 3, "dispatch_limit": 1])
            try await daemon.track(1...2)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            try await daemon.dispatcher(until: "both are settled") { $0["dead"].int == 1 && $0["sent"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e1"], ["e1"], ["e2"]])
            #expect(collector.requests.map { $0.events[0]["attempt"] } == [1, 2, 3, 1])
            #expect(try await daemon.ask("status")["counters"].contains(["dead": 1, "delivered": 1]))
        }
    }

    @Test("D9: attempts are charged to each event: a later one in the same batch has its own")
    func attemptsPerEvent() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(ScriptedAnswer(status: 500, isHeld: true), .status(500))
            let daemon = try await scene.daemon(sendingTo: collector, ["max_attempts": 2, "in_flight": 1])
            try await daemon.track(1...1)
            try await collector.requests(atLeast: 1)
            try await daemon.track(2...2)
            collector.release()
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            try await daemon.dispatcher(until: "both are settled") { $0["dead"].int == 1 && $0["sent"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e1", "e2"], ["e2"]])
            #expect(collector.requests[1].events.map(\.["attempt"]) == [2, 1])
            #expect(collector.requests[2].events[0]["attempt"] == 2)
        }
    }

    @Test("D9: a network error charges no attempt, however often it happens")
    func networkErrors() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            for _ in 1...5 { collector.answerNext(ScriptedAnswer(hangsUp: true)) }
            let daemon = try await scene.daemon(sendingTo: collector, ["max_attempts": 1])
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(collector.requests.count >= 6)
            #expect(collector.requests.allSatisfy { $0.events[0]["attempt"] == 1 })
            #expect(try await daemon.dispatcher()["dead"] == 0)
        }
    }

    @Test(
        "D9: an answer that the destination is unavailable or overloaded charges no attempt",
        arguments: [408, 429, 502, 503, 504])
    func outage(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            for _ in 1...5 { collector.answerNext(.status(status)) }
            let daemon = try await scene.daemon(sendingTo: collector, ["max_attempts": 1])
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(collector.requests.count == 6 && collector.requests.allSatisfy { $0.events[0]["attempt"] == 1 })
            #expect(try await daemon.dispatcher()["dead"] == 0)
        }
    }

    @Test("D9: an event is dead-lettered max_retry_age after its first charged attempt")
    func maxRetryAge() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(500))
            let daemon = try await scene.daemon(sendingTo: collector, ["max_retry_age_s": 1])
            let start = ContinuousClock.now
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "it is dead-lettered") { $0["dead"].int == 1 && $0["pending"].int == 0 }
            #expect(ContinuousClock.now - start > .seconds(1))
            #expect(collector.requests.count > 2)
            collector.answerAlways(.accepted)
            try await daemon.track(2...2)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
        }
    }
}
