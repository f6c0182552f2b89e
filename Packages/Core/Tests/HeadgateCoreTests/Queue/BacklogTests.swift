import Testing

@testable import HeadgateCore

@Suite("Backlog")
struct BacklogTests {
    @Test("Q4: the store counts an event until its slowest dispatcher has settled it")
    func slowestDispatcherCounts() {
        var backlog = Backlog()
        backlog.add(Tally(events: 3, bytes: 30), route: 1, dispatchers: [1, 2])
        backlog.add(Tally(events: 2, bytes: 20), route: 2, dispatchers: [2])
        #expect(backlog.live == Tally(events: 5, bytes: 50))
        backlog.settle(Tally(events: 3, bytes: 30), route: 1, dispatcher: 2)
        #expect(backlog.live == Tally(events: 5, bytes: 50))
        backlog.settle(Tally(events: 1, bytes: 10), route: 1, dispatcher: 1)
        #expect(backlog.live == Tally(events: 4, bytes: 40))
        #expect(backlog.unsettled(of: 1) == Tally(events: 2, bytes: 20))
        #expect(backlog.unsettled(of: 2) == Tally(events: 2, bytes: 20))
    }

    @Test("Q3: unsettled events of a dropped dispatcher no longer count")
    func forgottenDispatcher() {
        var backlog = Backlog()
        backlog.add(Tally(events: 3, bytes: 30), route: 1, dispatchers: [1, 2])
        backlog.settle(Tally(events: 2, bytes: 20), route: 1, dispatcher: 2)
        backlog.remove(1)
        #expect(backlog.live == Tally(events: 1, bytes: 10))
        #expect(backlog.unsettled(of: 1) == .zero)
    }
}
