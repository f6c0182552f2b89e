import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Settled ranges with gaps")
struct GapTests {
    private func bench(inFlight: Int, limit: Int = 2) -> GateBench {
        GateBench {
            $0.inFlight = inFlight
            $0.dispatchLimit = limit
        }
    }

    @Test("Q2: events settled out of order are not sent again after a restart, and pending events are")
    func restart() throws {
        let bench = bench(inFlight: 2)
        bench.track(8)
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [3, 4], [5, 6]])
        try bench.restart()
        #expect(bench.sender.sent == [[1, 2], [5, 6]])
        #expect(bench.gate.stored.events == 6)
        #expect(bench.summary().pending == 2)
        bench.sender.reply = { _ in .delivered }
        for number in 1...2 { bench.sender.answer(to: number) }
        bench.settle()
        #expect(bench.sender.delivered == [1, 2, 5, 6, 7, 8])
        try bench.restart()
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q2: an event that waits for a retry or for its key is a gap in the settled range")
    func retriedAndHeldByKey() throws {
        let bench = bench(inFlight: 3, limit: 1)
        for key in ["a", "b", "a", "c"] { bench.track(EventDraft(key: key)) }
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [4]])
        bench.sender.answer(.status(503), to: 2)
        bench.sender.answer(to: 3)
        bench.settle()
        try bench.restart()
        #expect(bench.sender.sent == [[1], [2]])
        #expect(bench.gate.stored.events == 3)
        bench.sender.reply = { _ in .delivered }
        for number in 1...2 { bench.sender.answer(to: number) }
        bench.settle()
        #expect(bench.sender.delivered == [1, 2, 3])
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q2, Q3: gaps survive repeated restarts while the oldest event is never delivered")
    func manyRestarts() throws {
        let bench = bench(inFlight: 2, limit: 1)
        bench.track(12)
        for round in 0..<4 {
            let sent = bench.sender.sent.last ?? []
            #expect(sent == [SequenceNumber(2 + 2 * round)])
            bench.sender.answer(to: 2)
            bench.settle()
            bench.sender.answer(to: 3)
            bench.settle()
            #expect(bench.summary().pending + bench.summary().inFlight == 12 - 2 * (round + 1))
            try bench.restart()
            #expect(bench.sender.sent.first == [1])
        }
        bench.sender.reply = { _ in .delivered }
        for batch in bench.sender.outstanding { bench.sender.answer(to: batch.number) }
        bench.settle()
        #expect(bench.sender.delivered == [1, 10, 11, 12])
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q2, Q3: a restored dispatcher keeps its gaps")
    func removed() throws {
        let bench = bench(inFlight: 2)
        bench.track(6)
        bench.sender.answer(to: 2)
        bench.settle()
        let settings = bench.dispatchers
        bench.dispatchers = [DispatcherSettings(id: "other")]
        try bench.restart()
        #expect(bench.gate.stored.events == 4)
        bench.dispatchers = settings
        try bench.restart()
        #expect(bench.sender.sent == [[1, 2], [5, 6]])
    }

    @Test("Q4, D12: drop_oldest evicts the oldest pending event, between events in flight and gaps, counted once")
    func dropOldest() throws {
        var limits = StoreLimits()
        limits.maxEvents = 8
        limits.overflow = .dropOldest
        let bench = GateBench(limits: limits) {
            $0.inFlight = 3
            $0.dispatchLimit = 2
        }
        bench.track(8)
        bench.sender.answer(to: 2)
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [3, 4], [5, 6], [7, 8]])
        bench.track(2)
        #expect(bench.counters[.evicted] == 0 && bench.gate.stored.events == 8)
        bench.track(3)
        #expect(bench.counters[.evicted] == 3 && bench.summary().counters[.evicted] == 3)
        #expect(bench.gate.stored.events == 8)
        try bench.restart()
        #expect(bench.gate.stored.events == 8)
        bench.sender.reply = { _ in .delivered }
        for batch in bench.sender.outstanding { bench.sender.answer(to: batch.number) }
        bench.settle()
        #expect(bench.sender.delivered == [1, 2, 5, 6, 7, 8, 12, 13])
        #expect(bench.counters[.evicted] == 0 && bench.counters[.quarantined] == 0)
    }

    @Test("Q2: ranges that touch, overlap or cross the position are normalised")
    func normalForm() {
        let settled = Settled(through: 10, and: [20...22, 5...11, 23...25, 24...30, 40...40, 1...3])
        #expect(settled.position == 11)
        #expect(settled.ranges == [20...30, 40...40])
        #expect(Settled(through: 1, and: [3...4, 2...2]) == Settled(through: 4))
        let far = Settled(through: .max - 1, and: [.max ... .max, .min ... .max])
        #expect(far == Settled(through: .max))
        #expect((1...50).filter(settled.contains) == Array(1...11) + Array(20...30) + [40])
    }

    @Test("Q2: the settled part of a range is counted")
    func overlap() {
        let settled = Settled(through: 10, and: [20...30, 40...40])
        #expect(settled.overlap(with: 11...19) == .none)
        #expect(settled.overlap(with: 31...39) == .none)
        #expect(settled.overlap(with: 41...90) == .none)
        #expect(settled.overlap(with: 20...30) == .whole)
        #expect(settled.overlap(with: 40...40) == .whole)
        #expect(settled.overlap(with: 19...20) == .part)
        #expect(settled.overlap(with: 30...31) == .part)
        #expect(settled.overlap(with: 12...90) == .part)
    }

    @Test("Q2, Q6: there are at most as many ranges as buffered events")
    func bounded() throws {
        let bench = bench(inFlight: 4, limit: 3)
        for number in 0..<200 { bench.track(1, EventDraft(key: "k\(number % 3)")) }
        let dispatcher = try #require(bench.gate.dispatchers["collect"])
        for round in 0..<300 {
            let outstanding = bench.sender.outstanding
            guard !outstanding.isEmpty else { break }
            bench.sender.answer(to: outstanding[round % outstanding.count].number)
            bench.settle()
            #expect(dispatcher.queue.settled.ranges.count <= dispatcher.queue.entries.count)
            #expect(dispatcher.queue.entries.count <= 2 * 4 * 3)
        }
        #expect(dispatcher.unsettled == .zero)
        #expect(dispatcher.queue.settled == Settled(through: 200))
    }
}
