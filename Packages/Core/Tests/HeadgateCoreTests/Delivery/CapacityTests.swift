import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

/// Destinations that say how much they can take.
@Suite struct CapacityTests {
    @Test("K3: no more batches are taken than the destination has room for, and in_flight allows")
    func batches() {
        let bench = GateBench {
            $0.inFlight = 3
            $0.dispatchLimit = 1
        }
        bench.sender.capacity = SenderCapacity(batches: 0)
        bench.track(5)
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.summary().pending == 5)
        #expect(bench.summary().inFlight == 0)
        bench.sender.capacity = SenderCapacity(batches: 2)
        bench.gate.destinationHasRoom("collect")
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.sender.capacity = SenderCapacity()
        bench.gate.destinationHasRoom("collect")
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [3]])
        bench.gate.destinationHasRoom("nobody")
        bench.settle()
    }

    @Test("K3: the next batch has no more events than the destination wants")
    func events() {
        let bench = GateBench { $0.dispatchLimit = 3 }
        bench.sender.capacity = SenderCapacity(batches: 0)
        bench.track(6)
        for events in [2, 5] {
            bench.sender.capacity = SenderCapacity(batches: 1, events: events)
            bench.gate.destinationHasRoom("collect")
            bench.settle()
            bench.sender.answer()
        }
        #expect(bench.sender.sent.prefix(2) == [[1, 2], [3, 4, 5]])
    }

    @Test("D1: what is being stored when an answer comes goes with the few that wait, who do so for a turn at most")
    func company() {
        let bench = GateBench { $0.dispatchLimit = 3 }
        bench.track(1)
        bench.track(2)
        bench.track(EventDraft())
        bench.sender.answer()
        bench.scheduler.endTurn()
        #expect(bench.sender.sent == [[1], [2, 3, 4]])
        bench.track(2)
        bench.sender.answer()
        bench.scheduler.endTurn()
        #expect(bench.sender.sent.count == 2)
        bench.scheduler.endTurn()
        #expect(bench.sender.sent.last == [5, 6])
    }

    @Test("D1: a whole batch waits for nothing behind an answer")
    func wholeBatch() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(1)
        bench.track(2)
        bench.sender.answer()
        bench.scheduler.endTurn()
        #expect(bench.sender.sent == [[1], [2, 3]])
    }

    @Test("D9: a batch tells the most attempts that one of its events has had")
    func attempt() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(503))
        bench.track(1)
        bench.advance(by: .seconds(1))
        #expect(bench.sender.batches.last?.events.map(\.attempt) == [2, 1])
        #expect(bench.sender.batches.last?.attempt == 2)
    }
}
