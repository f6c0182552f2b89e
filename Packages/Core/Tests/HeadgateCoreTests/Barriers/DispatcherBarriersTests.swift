import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("The barriers of a dispatcher")
struct WayTests {
    typealias Report = DispatcherBarriers.Report

    @Test("B1: without barriers a dispatcher is open")
    func noBarrier() {
        #expect(DispatcherBarriers().isOpen(flushing: false))
        #expect(DispatcherBarriers().isOpen(flushing: true))
    }

    @Test("B1: a dispatcher is open if every barrier is")
    func everyBarrierCounts() {
        var way = DispatcherBarriers()
        way.set(Report(state: .open, isFlushable: true), of: 1)
        way.set(Report(state: .closed, isFlushable: true), of: 2)
        #expect(!way.isOpen(flushing: false))
        way.set(Report(state: .open, isFlushable: true), of: 2)
        #expect(way.isOpen(flushing: false))
        way.set(Report(state: .closed, isFlushable: true), of: 1)
        way.set(nil, of: 1)
        #expect(way.isOpen(flushing: false))
    }

    @Test("B2: a flush ignores closed flushable barriers, but not other closed ones")
    func flushing() {
        var way = DispatcherBarriers()
        way.set(Report(state: .closed, isFlushable: true), of: 1)
        #expect(way.isOpen(flushing: true))
        way.set(Report(state: .closed, isFlushable: false), of: 2)
        way.set(Report(state: .open, isFlushable: false), of: 3)
        #expect(!way.isOpen(flushing: true))
        #expect(way.blockers(flushing: true) == [2])
        #expect(way.blockers(flushing: false) == [1, 2])
        way.set(Report(state: .closed, isFlushable: true), of: 2)
        #expect(way.isOpen(flushing: true))
    }

    @Test("B3: a barrier without a state counts as closed and not flushable")
    func waiting() {
        var way = DispatcherBarriers()
        way.set(Report(state: nil, isFlushable: true), of: 1)
        #expect(!way.isOpen(flushing: false))
        #expect(!way.isOpen(flushing: true))
    }

    @Test("B3: a closed barrier of unknown flushability blocks a flush")
    func waitingForFlushability() {
        var way = DispatcherBarriers()
        way.set(Report(state: .closed, isFlushable: nil), of: 1)
        #expect(!way.isOpen(flushing: true))
    }
}
