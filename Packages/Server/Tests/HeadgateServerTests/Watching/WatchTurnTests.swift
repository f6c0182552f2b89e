import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Turns of watches", .timeLimit(.minutes(5)))
struct WatchTurnTests {
    @Test("X3: the watches of one user report a turn's share at a time, and those of another user are not affected")
    func shared() {
        var turn = WatchTurn(isShared: true)
        var reports = 0
        while turn.allows(7) {
            _ = turn.count(3_200, of: 7)
            reports += 1
        }
        // Each report costs a call and 100 units for its bytes.
        #expect(reports == UserTurns.whole / (TurnShare.call + 100) + 1)
        #expect(turn.allows(8))
    }

    @Test("X3: a large report is made, and is charged")
    func large() {
        var turn = WatchTurn(isShared: true)
        #expect(turn.allows(7))
        let units = turn.count(1 << 20, of: 7)
        #expect(units > UserTurns.whole && !turn.allows(7))
    }

    @Test("X3: the watches of a user who is alone report in one turn")
    func alone() {
        var turn = WatchTurn(isShared: false)
        for _ in 1...100 { _ = turn.count(1 << 20, of: 7) }
        #expect(turn.allows(7))
    }

    @Test("X3: with several users, every watch reports in time")
    func all() async throws {
        try await ServiceStage.run { stage in
            var clients: [LineClient] = []
            for _ in 1...20 {
                let client = try await stage.client()
                for _ in 1...8 { try await client.call("watch", ["topics": ["dispatchers", "barriers"]]) }
                clients.append(client)
            }
            try await stage.inspect { $0.sessions.turns.isShared = true }
            for client in clients {
                // The first report of each topic of each watch.
                for _ in 1...16 { _ = try await client.notification() }
            }
        }
    }
}
