import Testing

/// Events larger than the limit of a batch.
@Suite struct OversizeTests {
    private static let limit: JSON = ["byte_limit": 1_000]
    private static let large: JSON = ["text": .string(String(repeating: "x", count: 1_000))]

    @Test("D2: an event over byte_limit is sent alone and in order")
    func goesAlone() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, Self.limit)
            try await track(daemon)
            #expect(try await collector.acceptedIDs(atLeast: 4) == ["e1", "e2", "e3", "e4"])
            #expect(collector.requests.map(\.ids) == [["e1"], ["e2"], ["e3", "e4"]])
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 4 }
        }
    }

    @Test("D2: without an answer an oversize event is retried like any other, and later events wait")
    func outage() async throws {
        try await withScene { scene in
            let collector = try scene.collector(listening: false)
            let daemon = try await scene.daemon(sendingTo: collector, Self.limit)
            try await track(daemon)
            try await daemon.dispatcher(until: "a failed attempt") { $0["failed"].int != 0 }
            try collector.listen()
            collector.answerNext(.accepted, ScriptedAnswer(hangsUp: true))
            let ids = try await collector.acceptedIDs(atLeast: 4)
            #expect(ids == ["e1", "e2", "e3", "e4"])
            #expect(try await daemon.dispatcher()["dead"] == 0)
        }
    }

    @Test(
        "D2: after any answer except success an oversize event is dead-lettered",
        arguments: [ScriptedAnswer.status(503), .status(413)])
    func neverRetried(answer: ScriptedAnswer) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.accepted, answer)
            let daemon = try await scene.daemon(
                sendingTo: collector, Self.limit.merging(["retry_for_status_codes": ["503": true]]))
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
            try await daemon.pause()
            try await daemon.track(2...2, data: Self.large)
            try await daemon.track(3...4)
            try await daemon.resume()
            #expect(try await collector.acceptedIDs(atLeast: 3) == ["e1", "e3", "e4"])
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 3 && $0["dead"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e2"], ["e3", "e4"]])
        }
    }

    @Test("D2: an oversize event never overtakes earlier events that are retried")
    func neverOvertakes() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(503), .status(503))
            let daemon = try await scene.daemon(sendingTo: collector, Self.limit)
            try await track(daemon)
            #expect(try await collector.acceptedIDs(atLeast: 4) == ["e1", "e2", "e3", "e4"])
            #expect(collector.requests.prefix(3).map(\.ids) == [["e1"], ["e1"], ["e1"]])
        }
    }

    /// Tracks four events while the dispatcher is paused. The second is too large.
    private func track(_ daemon: Daemon) async throws {
        try await daemon.pause()
        try await daemon.track(1...1)
        try await daemon.track(2...2, data: Self.large)
        try await daemon.track(3...4)
        try await daemon.resume()
    }
}
