import Testing

/// Kills with SIGKILL at any moment.
@Suite struct KillTests {
    @Test("P1, Q5: repeated kills during tracking lose nothing, and the order holds")
    func killedWhileTracking() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 10])
            let socketPath = daemon.socketPath
            let outcome = try await withThrowingTaskGroup(of: StubbornTracker.Outcome.self) { group in
                for name in ["a", "b", "c", "d"] {
                    group.addTask { try await StubbornTracker(name: name, count: 250, socketPath: socketPath).run() }
                }
                for kill in 1...3 {
                    try await collector.acceptedIDs(atLeast: kill * 150)
                    try await daemon.killNow()
                    try await daemon.start()
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let acknowledged = outcome.flatMap(\.acknowledged)
            #expect(acknowledged.count == 1_000)
            let delivered = try await eventually("all events at the collector") {
                let events = collector.accepted.flatMap(\.events)
                return Set(events.compactMap { $0["id"].string }).count >= 1_000 ? events : nil
            }
            expectNothingLost(acknowledged: acknowledged, delivered: delivered)
            try await daemon.dispatcher(until: "an empty queue") { $0["pending"].int == 0 && $0["in_flight"].int == 0 }
        }
    }

    @Test("Q3: pending events survive SIGKILL in order, without charged attempts")
    func waitingEventsSurvive() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerAlways(.status(503))
            let daemon = try await scene.daemon(sendingTo: collector, OutageTests.slow)
            let ids = try await daemon.track(1...100)
            try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            try await daemon.killNow()
            collector.answerAlways(.accepted)
            try await daemon.start()
            #expect(try await collector.acceptedIDs(atLeast: 100) == ids)
            #expect(collector.accepted.flatMap(\.events).allSatisfy { $0["attempt"] == 1 })
        }
    }

    @Test("P5: events in flight at a kill are sent again with the same ids")
    func inFlightIsSentAgain() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(.held)
            let daemon = try await scene.daemon(sendingTo: collector)
            let client = try await daemon.connect()
            let tracked = try await client.result("track", ["event": "signup"])
            let first = try await collector.requests(atLeast: 1)[0]
            try await daemon.killNow()
            try await daemon.start()
            let second = try await collector.requests(atLeast: 2)[1]
            #expect(first.ids == [try #require(tracked["id"].string)])
            #expect(first.body == second.body)
            #expect(try await daemon.dispatcher(until: "the event is settled") { $0["pending"].int == 0 }["dead"] == 0)
        }
    }

    @Test("Sequence numbers continue after SIGKILL, and none is reused")
    func sequenceContinues() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            var last = 0
            for round in 1...4 {
                for _ in 1...5 {
                    let seq = try #require(try await daemon.ask("track", ["event": "x"])["seq"].int)
                    #expect(seq > last, "round \(round)")
                    last = seq
                }
                try await daemon.killNow()
                try await daemon.start()
            }
        }
    }

    /// Checks that every acknowledged id arrived, that each id has one sequence number, and that first arrivals are in
    /// order.
    private func expectNothingLost(acknowledged: [String], delivered: [JSON]) {
        var sequences: [String: Int] = [:]
        var firsts: [Int] = []
        for event in delivered {
            guard let id = event["id"].string, let seq = event["seq"].int else {
                Issue.record("no id or seq in \(event)")
                continue
            }
            #expect(sequences[id] == nil || sequences[id] == seq, "\(id) was stored twice")
            if sequences.updateValue(seq, forKey: id) == nil { firsts.append(seq) }
        }
        #expect(Set(acknowledged).subtracting(sequences.keys).isEmpty)
        #expect(firsts == firsts.sorted())
    }
}
