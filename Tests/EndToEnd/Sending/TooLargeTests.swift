import Testing

/// The answer 413 Content Too Large.
@Suite struct TooLargeTests {
    @Test("D6: 413 halves the batch, both halves arrive, and no attempt is charged")
    func halves() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(413))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 8])
            let ids = try await send(8, daemon)
            #expect(try await collector.acceptedIDs(atLeast: 8) == ids)
            #expect(collector.requests.map(\.ids.count) == [8, 4, 4])
            #expect(collector.requests.flatMap(\.events).allSatisfy { $0["attempt"] == 1 })
            try await daemon.dispatcher(until: "all are settled") { $0["sent"].int == 8 && $0["pending"].int == 0 }
            #expect(try await daemon.dispatcher()["dead"] == 0)
        }
    }

    @Test("D6: batches are halved repeatedly without a wait")
    func halvesOfHalves() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(413), .status(413), .status(413))
            let slow = OutageTests.slow.merging(["dispatch_limit": 8, "max_attempts": 1])
            let daemon = try await scene.daemon(sendingTo: collector, slow)
            let ids = try await send(8, daemon)
            #expect(try await collector.acceptedIDs(atLeast: 8) == ids)
            #expect(collector.requests.prefix(4).map(\.ids.count) == [8, 4, 2, 1])
            #expect(try await daemon.dispatcher()["dead"] == 0)
        }
    }

    @Test("D6: a single event answered with 413 is dead-lettered, and the next one is sent")
    func single() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(413))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 1])
            try await send(2, daemon)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e2"])
            try await daemon.dispatcher(until: "both are settled") { $0["sent"].int == 1 && $0["dead"].int == 1 }
            #expect(collector.requests.map(\.ids) == [["e1"], ["e2"]])
        }
    }

    @Test("D6: the smaller limit is remembered, and grows with each success")
    func growsAgain() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.status(413))
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 8])
            let ids = try await send(400, daemon)
            #expect(try await collector.acceptedIDs(atLeast: 400) == ids)
            let sizes = collector.requests.map(\.ids.count)
            // The batch size grows step by step: the batch after the first half is not full yet.
            #expect(sizes.prefix(2) == [8, 4])
            #expect(sizes[2] < 8)
            #expect(sizes.dropFirst(3).contains(8), "\(sizes)")
            #expect(sizes.allSatisfy { $0 <= 8 })
        }
    }

    /// Tracks `count` events while the dispatcher is paused, so that batches are full.
    @discardableResult
    private func send(_ count: Int, _ daemon: Daemon) async throws -> [String] {
        try await daemon.pause()
        let ids = try await daemon.track(1...count)
        try await daemon.resume()
        return ids
    }
}
