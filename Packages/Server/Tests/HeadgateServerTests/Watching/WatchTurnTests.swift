import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Watches and the shares of a turn", .timeLimit(.minutes(5)))
struct WatchTurnTests {
    @Test("X3: all watches of a user report within the user's share of a turn; other users are not affected")
    func shared() {
        var turn = WatchTurn(isShared: true)
        var reports = 0
        while turn.allows(7) {
            _ = turn.count(3_200, of: 7)
            reports += 1
        }
        // A report costs as much as a call, plus 100 units for its bytes.
        #expect(reports == UserTurns.whole / (TurnShare.call + 100) + 1)
        #expect(turn.allows(8))
    }

    @Test("X3: a report that exceeds the user's share is made, and the excess is charged")
    func large() {
        var turn = WatchTurn(isShared: true)
        #expect(turn.allows(7))
        let units = turn.count(1 << 20, of: 7)
        #expect(units > UserTurns.whole && !turn.allows(7))
    }

    @Test("X3: if only one user has watches, all of them report in one turn")
    func alone() {
        var turn = WatchTurn(isShared: false)
        for _ in 1...100 { _ = turn.count(1 << 20, of: 7) }
        #expect(turn.allows(7))
    }

    @Test("X3: with several users every watch gets its first report")
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
                // Each topic of each watch has a first report.
                for _ in 1...16 { _ = try await client.notification() }
            }
        }
    }
}
