import Testing

/// The outcome of events for each kind of answer.
@Suite struct OutcomeTests {
    @Test(
        "D3: 400, 401, 403, 410 and 422 dead-letter the event, and the next one is sent",
        arguments: [400, 401, 403, 410, 422])
    func finalStatuses(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(status))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await daemon.track(1...2)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e2"]])
            #expect(try await daemon.ask("status")["counters"].contains(["received": 2, "delivered": 1, "dead": 1]))
        }
    }

    @Test("D3: any other answer is retried", arguments: [302, 304, 404, 408, 429, 500, 502, 503])
    func retriedStatuses(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(ScriptedAnswer(status: status, headers: ["Location: /elsewhere"]))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            try await daemon.dispatcher(until: "the event is settled") { $0["sent"].int == 1 }
            #expect(try await daemon.dispatcher()["dead"] == 0)
            // Redirects are not followed.
            #expect(collector.requests.map(\.target) == ["/events", "/events"])
            #expect(try await daemon.ask("status")["counters"]["retried"] == 1)
        }
    }

    @Test("D3: every 2xx is a delivery", arguments: [200, 201, 202, 204, 299])
    func acceptedStatuses(status: Int) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(status))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.track(1...1)
            try await daemon.dispatcher(until: "the event is settled") { $0["sent"].int == 1 }
            #expect(collector.requests.count == 1)
        }
    }

    @Test("D3: retry_for_status_codes overrides the table in both directions")
    func ownStatusCodes() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(403), .status(200), .status(500))
            let daemon = try await scene.daemon(
                sendingTo: collector,
                ["dispatch_limit": 1, "retry_for_status_codes": ["403": true, "500": false]])
            try await daemon.track(1...3)
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e3"])
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 2 && $0["dead"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e1"], ["e2"], ["e3"]])
        }
    }

    @Test("D3: with retry_failed_requests off the first failure is final")
    func retriesOff() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(503))
            let daemon = try await scene.daemon(
                sendingTo: collector,
                ["dispatch_limit": 1, "retry_failed_requests": false, "retry_for_status_codes": ["503": true]])
            try await daemon.track(1...2)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
        }
    }

    @Test("P1: a refused batch is dead-lettered, and each event is counted")
    func wholeBatchIsCounted() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(422))
            let daemon = try await scene.daemon(sendingTo: collector)
            try await daemon.pause()
            try await daemon.track(1...7)
            try await daemon.resume()
            try await daemon.dispatcher(until: "all are settled") { $0["dead"].int == 7 && $0["pending"].int == 0 }
            #expect(collector.requests.count == 1)
        }
    }
}
