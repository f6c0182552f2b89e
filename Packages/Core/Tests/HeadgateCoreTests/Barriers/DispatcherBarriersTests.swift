import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("The barriers of a dispatcher")
struct DispatcherBarriersTests {
    typealias Report = DispatcherBarriers.Report

    @Test("B1: without barriers a dispatcher is open")
    func noBarrier() {
        #expect(DispatcherBarriers().isOpen(flushing: false))
        #expect(DispatcherBarriers().isOpen(flushing: true))
    }

    @Test("B1: a dispatcher is open if every barrier is")
    func everyBarrierCounts() {
        var barriers = DispatcherBarriers()
        barriers.set(Report(state: .open, isFlushable: true), of: 1)
        barriers.set(Report(state: .closed, isFlushable: true), of: 2)
        #expect(!barriers.isOpen(flushing: false))
        barriers.set(Report(state: .open, isFlushable: true), of: 2)
        #expect(barriers.isOpen(flushing: false))
        barriers.set(Report(state: .closed, isFlushable: true), of: 1)
        barriers.set(nil, of: 1)
        #expect(barriers.isOpen(flushing: false))
    }

    @Test("B2: a flush ignores closed flushable barriers, but not other closed ones")
    func flushing() {
        var barriers = DispatcherBarriers()
        barriers.set(Report(state: .closed, isFlushable: true), of: 1)
        #expect(barriers.isOpen(flushing: true))
        barriers.set(Report(state: .closed, isFlushable: false), of: 2)
        barriers.set(Report(state: .open, isFlushable: false), of: 3)
        #expect(!barriers.isOpen(flushing: true))
        #expect(barriers.blockers(flushing: true) == [2])
        #expect(barriers.blockers(flushing: false) == [1, 2])
        barriers.set(Report(state: .closed, isFlushable: true), of: 2)
        #expect(barriers.isOpen(flushing: true))
    }

    @Test("B3: a barrier without a state counts as closed and not flushable")
    func waiting() {
        var barriers = DispatcherBarriers()
        barriers.set(Report(state: nil, isFlushable: true), of: 1)
        #expect(!barriers.isOpen(flushing: false))
        #expect(!barriers.isOpen(flushing: true))
    }

    @Test("B3: a closed barrier of unknown flushability blocks a flush")
    func waitingForFlushability() {
        var barriers = DispatcherBarriers()
        barriers.set(Report(state: .closed, isFlushable: nil), of: 1)
        #expect(!barriers.isOpen(flushing: true))
    }
}
