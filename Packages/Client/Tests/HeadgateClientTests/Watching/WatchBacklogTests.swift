import HeadgateData
import Testing

@testable import HeadgateClient

/// Tests the changes that a slow reader of a watch gets (Protocol, `watch`).
@Suite struct WatchBacklogTests {
    private func dispatcher(_ id: String, sent: Int = 0) -> ListedDispatcher {
        ListedDispatcher(["id": .string(id), "sent": .number(DataNumber(sent))])
    }

    private func outcome(_ id: String, delivered: Int) -> OutcomeCounts {
        OutcomeCounts(["dispatcher": .string(id), "delivered": .number(DataNumber(delivered))])
    }

    private func reported(_ updates: WatchUpdate...) -> [WatchUpdate] {
        var backlog = WatchBacklog()
        for update in updates { backlog.add(update) }
        var reported: [WatchUpdate] = []
        while let update = backlog.next() { reported.append(update) }
        return reported
    }

    @Test("Each topic is reported once, with the latest state of each entry, in the order in which the topics came")
    func latest() {
        let updates = reported(
            .began, .dispatchers([dispatcher("a"), dispatcher("b")], removed: []), .clients([]),
            .dispatchers([dispatcher("c"), dispatcher("a", sent: 7)], removed: []))
        #expect(
            updates == [
                .began,
                .dispatchers([dispatcher("a", sent: 7), dispatcher("b"), dispatcher("c")], removed: []), .clients([]),
            ])
    }

    @Test("A removed entry is reported as removed, unless it has returned or was never reported")
    func removed() {
        var backlog = WatchBacklog()
        backlog.add(.dispatchers(["a", "x", "y"].map { dispatcher($0) }, removed: []))
        _ = backlog.next()
        backlog.add(.dispatchers([dispatcher("b")], removed: ["x", "y"]))
        backlog.add(.dispatchers([dispatcher("x")], removed: ["a"]))
        #expect(backlog.next() == .dispatchers([dispatcher("b"), dispatcher("x")], removed: ["y", "a"]))
        backlog.add(.dispatchers([], removed: ["b"]))
        #expect(backlog.next() == .dispatchers([], removed: ["b"]))
        let barrier = ListedBarrier(["id": "door"])
        #expect(
            reported(.barriers([barrier], removed: []), .barriers([], removed: ["door"])) == [
                .barriers([], removed: [])
            ])
        backlog.add(.barriers([barrier], removed: []))
        _ = backlog.next()
        backlog.add(.barriers([], removed: ["door"]))
        #expect(backlog.next() == .barriers([], removed: ["door"]))
    }

    @Test("Outcomes are counted together, and of clients the last list counts")
    func sums() {
        let client = ListedClient(["session": "1"])
        #expect(
            reported(
                .outcomes([outcome("a", delivered: 1)]), .clients([]),
                .outcomes([outcome("b", delivered: 5), outcome("a", delivered: 2)]), .clients([client]))
                == [.outcomes([outcome("a", delivered: 3), outcome("b", delivered: 5)]), .clients([client])])
    }

    @Test("Unread changes of a lost connection are dropped, because they no longer apply")
    func interrupted() {
        let news: WatchUpdate = .dispatchers([dispatcher("a")], removed: [])
        #expect(
            reported(.began, news, .interrupted(.disconnected), .began, news, .interrupted(.closed))
                == [.interrupted(.closed)])
        #expect(
            reported(.began, news, .interrupted(.disconnected), .began, news)
                == [.interrupted(.disconnected), .began, news])
        #expect(reported(.outcomes([]), .began) == [.began])
    }

    @Test("The memory is bounded by the number of entries, not by the number of changes")
    func bounded() {
        var backlog = WatchBacklog()
        for number in 1...5_000 {
            let barrier = ListedBarrier(["id": .string("\(number)")])
            backlog.add(.barriers([barrier], removed: number > 3 ? ["\(number - 3)"] : []))
            backlog.add(.outcomes([outcome("a", delivered: 1)]))
        }
        guard case .barriers(let present, let removed)? = backlog.next() else {
            Issue.record("no barriers")
            return
        }
        #expect(present.map(\.id) == ["4998", "4999", "5000"])
        #expect(removed.isEmpty)
        #expect(backlog.next() == .outcomes([outcome("a", delivered: 5_000)]))
        #expect(backlog.next() == nil)
    }
}
