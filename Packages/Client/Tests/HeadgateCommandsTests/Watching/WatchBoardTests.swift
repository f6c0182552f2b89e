import HeadgateClient
import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct WatchBoardTests {
    private func dispatcher(_ id: String, sent: Int) -> DataItem {
        ["id": .string(id), "state": "open", "sent": .number(DataNumber(sent))]
    }

    private func dispatchers(_ entries: DataItem..., removed: DataItem = []) -> DataObject {
        ["watch": "w", "topic": "dispatchers", "dispatchers": .array(entries), "removed": removed]
    }

    @Test("B10: changes are merged into the known state, and removed entries disappear")
    func changes() {
        var board = WatchBoard()
        board.began()
        board.changed(dispatchers(dispatcher("b", sent: 1), dispatcher("a", sent: 1)))
        board.changed(dispatchers(dispatcher("b", sent: 2), dispatcher("c", sent: 0), removed: ["a", "x"]))
        #expect(board.dispatchers.map(\.id) == ["b", "c"])
        #expect(board.dispatchers.map(\.sent) == [2, 0])
        board.changed(["topic": "barriers", "barriers": [.object(Fixed.manual)]])
        #expect(board.barriers.map(\.id) == ["ManualBarrier:collect"])
    }

    @Test("After a restart the known state stays until the next report, and is then replaced as a whole")
    func beganAgain() {
        var board = WatchBoard()
        board.began()
        board.changed(dispatchers(dispatcher("a", sent: 1), dispatcher("b", sent: 1)))
        board.interrupted()
        #expect(board.link == .lost)
        board.began()
        #expect(board.link == .connected)
        #expect(board.dispatchers.map(\.id) == ["a", "b"])
        board.changed(dispatchers(dispatcher("b", sent: 0)))
        #expect(board.dispatchers.map(\.id) == ["b"])
        board.changed(dispatchers(dispatcher("c", sent: 0)))
        #expect(board.dispatchers.map(\.id) == ["b", "c"])
    }

    @Test("Outcomes are added up since the last report; after a new start they count from zero")
    func outcomes() {
        func news(_ delivered: Int) -> DataObject {
            let entry: DataItem = ["dispatcher": "a", "delivered": .number(DataNumber(delivered))]
            return ["topic": "outcomes", "outcomes": [entry]]
        }
        var board = WatchBoard()
        board.began()
        board.changed(news(10))
        board.changed(news(3))
        #expect(board.outcomes.map(\.delivered) == [13])
        board.began()
        board.changed(news(4))
        #expect(board.outcomes.map(\.delivered) == [4])
    }

    @Test("The rate is per second, and starts again with each connection")
    func rate() {
        var board = WatchBoard()
        board.began()
        board.changed(dispatchers(dispatcher("a", sent: 5)))
        board.secondPassed(at: 0)
        #expect(board.rate(of: "a") == nil)
        board.changed(dispatchers(dispatcher("a", sent: 25)))
        board.secondPassed(at: 1_000_000_000)
        #expect(board.rate(of: "a") == 20)
        board.interrupted()
        #expect(board.rate(of: "a") == nil)
        board.secondPassed(at: 2_000_000_000)
        #expect(board.rate(of: "a") == nil)
    }

    @Test(
        "Unknown parts of a message are ignored",
        arguments: [
            [:], ["topic": "weather"], ["topic": 5], ["topic": "dispatchers"], ["topic": "barriers", "barriers": 7],
            ["topic": "clients", "clients": [1]], ["topic": "outcomes", "outcomes": "many", "removed": 1],
        ] as [DataObject])
    func nonsense(params: DataObject) {
        var board = WatchBoard()
        board.began()
        board.changed(params)
        #expect(board.dispatchers.isEmpty && board.barriers.isEmpty && board.outcomes.isEmpty && board.clients.isEmpty)
    }
}

@Suite struct RateGaugeTests {
    @Test("A counter's growth in the last second is shown after its second reading")
    func rate() {
        var gauge = RateGauge()
        #expect(gauge.perSecond == nil)
        gauge.take(100, at: 0)
        #expect(gauge.perSecond == nil)
        gauge.take(150, at: 500_000_000)
        #expect(gauge.perSecond == 100)
        gauge.take(150, at: 1_500_000_000)
        #expect(gauge.perSecond == 0)
    }

    @Test("A decreased counter and a stopped clock show no growth; it is shown again after that")
    func again() {
        var gauge = RateGauge()
        gauge.take(100, at: 0)
        gauge.take(5, at: 1_000_000_000)
        #expect(gauge.perSecond == nil)
        gauge.take(6, at: 1_000_000_000)
        #expect(gauge.perSecond == nil)
        gauge.take(8, at: 2_000_000_000)
        #expect(gauge.perSecond == 2)
        gauge.take(.max, at: 3_000_000_000)
        gauge.take(.min, at: 4_000_000_000)
        #expect(gauge.perSecond == nil)
    }
}
