import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The cost of watching", .timeLimit(.minutes(5)))
struct WatchCostTests {
    /// Scopes of a barrier that are so long that a few notifications fill the socket buffers.
    private static let scopes: [DataItem] =
        ["all"] + (100..<350).map { .string(String(repeating: "x", count: 60) + "\($0)") }
    /// The approximate size of the scopes, in bytes.
    private static let size = 250 * 66

    @Test("B10: a slow reader gets the latest state, not all missed ones")
    func latestState() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            try await watcher.watch("barriers")
            await watcher.pauseReading()
            let owner = try await stage.client()
            let rounds = 400
            try await owner.call("barrier.register", ["id": "door", "state": "open", "scopes": .array(Self.scopes)])
            for round in 1...rounds {
                let state: DataItem = round % 2 == 0 ? "open" : "closed"
                try await owner.call(
                    "barrier.set", ["id": "door", "state": state, "reason": .string("\(round) round")])
            }
            #expect(try await stage.inspect { $0.sessions.all.contains { $0.connection.outputBytes > 0 } })
            await watcher.resumeReading()
            var reported = 0
            let last = try await watcher.barrier("door") { barrier in
                reported += 1
                let reason: String = barrier["reason"].get() ?? ""
                return reason.hasPrefix("\(rounds) ")
            }
            #expect(last["states"] == ["archive": "open", "collect": "open"])
            #expect(reported < rounds)
        }
    }

    @Test("B10: the daemon's output buffer for a slow reader is bounded")
    func bounded() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            try await watcher.watch("barriers")
            await watcher.pauseReading()
            let owner = try await stage.client()
            try await owner.call("barrier.register", ["id": "door", "state": "open", "scopes": .array(Self.scopes)])
            var most = 0
            for round in 1...400 {
                try await owner.call("barrier.set", ["id": "door", "reason": .string("\(round) round")])
                most = try await max(most, stage.inspect { $0.sessions.all.map(\.connection.outputBytes).max() ?? 0 })
            }
            // The session keeps at most one notification.
            #expect(most > 0)
            #expect(most < 2 * Self.size)
        }
    }

    @Test("B10: changes of counters are reported together, at most every 50 ms")
    func counters() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            let start = ContinuousClock.now
            try await watcher.watch("outcomes")
            let tracker = try await stage.client()
            // The answers are awaited one by one, so each event has a turn of the loop of its own.
            for _ in 0..<500 { try await tracker.call("track", ["event": "signup", "dispatchers": ["collect"]]) }
            var reported = 0
            var delivered = 0
            while delivered < 500 {
                reported += 1
                for outcome in try await watcher.notification()["outcomes"].elements {
                    delivered += outcome["delivered"].get() ?? 0
                }
            }
            let elapsed = ContinuousClock.now - start
            #expect(delivered == 500)
            #expect(reported <= Int(elapsed / .milliseconds(50)) + 1)
        }
    }
}
