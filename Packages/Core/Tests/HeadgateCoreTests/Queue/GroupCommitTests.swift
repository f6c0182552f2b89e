import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Group commit")
struct GroupCommitTests {
    let bench = GateBench()

    private var faults: [StoreFault?] { bench.acknowledgements.map(\.fault) }

    @Test("Q5: events offered in one turn form one group")
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

    @Test("Q5: events offered during a commit are stored and answered after it")
    func goesBehind() {
        bench.store.holdsAppends = true
        for count in 1...3 { bench.track(count) }
        #expect(bench.store.memory.groupCount == 3)
        bench.store.releaseAppend()
        #expect(bench.acknowledgements.map(\.admission) == [.stored(1)])
        bench.store.holdsAppends = false
        #expect(bench.acknowledgements.map(\.admission) == (1...6).map { .stored($0) })
    }

    @Test("Q5: with many groups in flight the next one is collected, and sent when one of them is stored")
    func gathersMeanwhile() {
        bench.store.holdsAppends = true
        for _ in 1...70 { bench.track(1) }
        #expect(bench.store.memory.groupCount == 64)
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.store.memory.groupCount == 65)
        bench.store.holdsAppends = false
        bench.settle()
        #expect(bench.acknowledgements.map(\.admission) == (1...70).map { .stored($0) })
    }

    @Test("Q5: a very large group is sent at once, even with others in flight")
    func veryMuch() {
        bench.store.holdsAppends = true
        bench.track(1_600, EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 1_000))"}"#))
        #expect(bench.store.memory.groupCount == 5)
        bench.store.holdsAppends = false
        bench.settle()
        #expect(faults == Array(repeating: nil, count: 1_600))
    }

    @Test("Q5: with an idle store a large group is sent before the end of the turn")
    func muchGoesAtOnce() {
        bench.track(100, EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 1_000))"}"#))
        #expect(bench.store.memory.groupCount == 2)
        #expect(faults == Array(repeating: nil, count: 100))
    }

    @Test("P1: no event is acknowledged or sent before it is stored")
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

    @Test("Q5: a failed commit refuses its group, and all groups offered before the failure was known")
    func failedCommit() {
        bench.store.memory.fault = .noRoom("full")
        bench.store.holdsAppends = true
        bench.track(2)
        bench.store.memory.fault = nil
        bench.track(2)
        bench.store.holdsAppends = false
        bench.settle()
        #expect(faults == Array(repeating: .noRoom("full"), count: 4))
        #expect(bench.gate.stored == .zero)
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.gate.warnings == [.storeRefuses(cause: "full")])
        bench.track(1)
        #expect(bench.gate.warnings.isEmpty)
    }

    @Test("Q8: events offered after a known failure are stored, although groups in flight are refused")
    func afterFailure() {
        bench.store.memory.fault = .noRoom("full")
        bench.store.holdsAppends = true
        for _ in 1...3 { bench.track(1) }
        bench.store.memory.fault = nil
        bench.store.releaseAppend()
        bench.track(1)
        bench.store.holdsAppends = false
        bench.settle()
        #expect(faults == [.noRoom("full"), .noRoom("full"), .noRoom("full"), nil])
        #expect(bench.sender.sent == [[4]])
        #expect(bench.gate.stored.events == 1)
    }

    @Test("Q7, Q8: an id refused with its group, or with a later group, is new when it is sent again")
    func idsBehindFailure() {
        bench.store.memory.fault = .noRoom("full")
        bench.store.holdsAppends = true
        for id in ["a", "a", "b"] { bench.track(1, EventDraft(id: id)) }
        bench.store.memory.fault = nil
        bench.store.releaseAppend()
        for id in ["a", "b"] { bench.track(1, EventDraft(id: id)) }
        bench.store.holdsAppends = false
        bench.settle()
        #expect(faults.map { $0 == nil } == [false, false, false, true, true])
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q8: after a refusal for lack of room, events are stored again once there is room")
    func roomAgain() {
        bench.store.memory.fault = .noRoom("full")
        bench.track(1)
        bench.store.memory.fault = nil
        bench.track(1)
        #expect(faults == [.noRoom("full"), nil])
        #expect(bench.sender.sent == [[2]])
    }

    @Test("Q8: a route first used in a failed group is stored later")
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

    @Test("Q5: a waiter is notified even if no event is to be committed")
    func nothingToCommit() {
        var reported = 0
        bench.gate.events.whenCommitted { reported += $0 == nil ? 1 : 100 }
        #expect(reported == 0)
        bench.settle()
        #expect(reported == 1)
        #expect(bench.store.memory.groupCount == 0)
    }

    @Test("Q8: delivery continues while the store cannot write, and is stored later")
    func deliveryContinues() throws {
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
