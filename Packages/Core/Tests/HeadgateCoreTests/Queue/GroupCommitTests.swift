import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Group commit")
struct GroupCommitTests {
    let bench = GateBench()

    private var faults: [StoreFault?] { bench.acknowledgements.map(\.fault) }

    @Test("Q5: what is offered in one turn is one group")
    func oneGroup() {
        bench.track(50)
        #expect(bench.store.memory.groupCount == 1)
        #expect(faults == Array(repeating: nil, count: 50))
    }

    @Test("Q5: a lone event is committed at the end of its turn")
    func loneEvent() {
        bench.track(1)
        bench.track(1)
        #expect(bench.store.memory.groupCount == 2)
        #expect(bench.scheduler.now == ManualScheduler().now)
    }

    @Test("Q5: while one group is committed, the next is gathered")
    func gathersMeanwhile() {
        bench.store.holdsAppends = true
        bench.track(1)
        bench.track(2)
        bench.track(3)
        #expect(bench.store.memory.groupCount == 1)
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.store.memory.groupCount == 2)
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.acknowledgements.map(\.admission) == (1...6).map { .stored($0) })
    }

    @Test("P1: nothing is acknowledged, or sent, before it is stored")
    func acknowledgedAfterwards() {
        bench.store.holdsAppends = true
        bench.track(1)
        #expect(bench.acknowledgements.isEmpty)
        #expect(bench.sender.sent.isEmpty)
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.acknowledgements.count == 1)
        #expect(bench.sender.sent == [[1]])
    }

    @Test("Q5: a failed commit refuses all of its group, and all that was gathered behind it")
    func failedCommit() {
        bench.store.memory.fault = .noRoom("full")
        bench.store.holdsAppends = true
        bench.track(2)
        bench.track(2)
        bench.store.memory.fault = nil
        bench.store.holdsAppends = false
        bench.store.releaseAppend()
        bench.settle()
        #expect(faults == Array(repeating: .noRoom("full"), count: 4))
        #expect(bench.gate.stored == .zero)
        #expect(bench.sender.sent.isEmpty)
    }

    @Test("Q8: room that comes back is used")
    func roomAgain() {
        bench.store.memory.fault = .noRoom("full")
        bench.track(1)
        bench.store.memory.fault = nil
        bench.track(1)
        #expect(faults == [.noRoom("full"), nil])
        #expect(bench.sender.sent == [[2]])
    }

    @Test("Q8: a route that was first used in a failed group still gets written down")
    func routeOfFailedGroup() throws {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.store.memory.fault = .failed("broken")
        bench.track(1, EventDraft(dispatchers: ["collect"]))
        bench.store.memory.fault = nil
        bench.track(1, EventDraft(dispatchers: ["collect"]))
        try bench.restart()
        #expect(bench["collect"].sent == [[2]])
        #expect(bench["archive"].sent.isEmpty)
    }

    @Test("Q5: those who wait are told without an event to wait for")
    func nothingToCommit() {
        var told = 0
        bench.gate.events.whenCommitted { told += $0 == nil ? 1 : 100 }
        #expect(told == 0)
        bench.settle()
        #expect(told == 1)
        #expect(bench.store.memory.groupCount == 0)
    }

    @Test("Q8: delivery goes on while nothing can be written, and is written down once it can")
    func deliveryGoesOn() throws {
        bench.track(2)
        bench.store.memory.fault = .noRoom("full")
        bench.sender.answer()
        bench.settle()
        #expect(bench.counters[.delivered] == 2)
        bench.store.memory.fault = nil
        bench.advance(by: .seconds(1))
        try bench.restart()
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.gate.stored == .zero)
    }
}
