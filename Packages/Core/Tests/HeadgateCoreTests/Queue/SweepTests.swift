import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Sweeper")
struct SweepTests {
    private let short = EventDraft(timeToLive: .seconds(1))

    private func hold(_ bench: GateBench, _ id: String = "collect") {
        _ = bench.gate.pause(id, reason: nil, isFlushable: false) { _ in }
    }

    private func release(_ bench: GateBench, _ id: String = "collect") {
        _ = bench.gate.resume(id) { _ in }
        bench.settle()
    }

    @Test("Q4, Q6: events expire anywhere in a blocked backlog, counted once, with bounded memory")
    func deepInBacklog() throws {
        let bench = GateBench(reply: { _ in .delivered })
        hold(bench)
        for _ in 0..<1000 {
            bench.track(2)
            bench.track(1, short)
        }
        let bytes = bench.gate.stored.bytes
        bench.advance(by: .seconds(60))
        #expect(bench.summary().counters[.expired] == 1000 && bench.counters[.expired] == 1000)
        #expect(bench.summary().pending == 2000)
        #expect(bench.gate.stored.events == 2000 && bench.gate.stored.bytes < bytes)
        let queue = try #require(bench.gate.dispatchers["collect"]).queue
        #expect(queue.entries.count == 1 && queue.settled.ranges.isEmpty)
        bench.advance(by: .seconds(600))
        #expect(bench.counters[.expired] == 1000)
        release(bench)
        #expect(bench.sender.delivered == (1...3000).filter { !$0.isMultiple(of: 3) })
        #expect(bench.counters[.expired] == 1000 && bench.counters[.quarantined] == 0)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q4: the sweeper finds events that arrive during a pass, and those that expire later, in time")
    func passAfterPass() {
        let bench = GateBench(reply: { _ in .delivered })
        hold(bench)
        for round in 1...20 {
            bench.track(1)
            bench.track(1, EventDraft(timeToLive: .seconds(round * 30)))
            bench.advance(by: .milliseconds(1700))
        }
        for round in 1...20 {
            bench.advance(by: .seconds(30))
            #expect((round - 1...round + 1).contains(bench.counters[.expired]))
        }
        bench.advance(by: .seconds(30))
        #expect(bench.counters[.expired] == 20)
        release(bench)
        #expect(bench.sender.delivered == (1...40).filter { !$0.isMultiple(of: 2) })
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("Q4: the sweeper skips gaps in the sequence numbers in a few steps")
    func sparse() {
        var sweep = Sweep()
        sweep.begin(AgeLimit(receivedBy: 5, endedBy: 5), behind: 0, through: 1 << 45)
        var steps = 0
        while let next = sweep.next {
            sweep.advance(through: next.through, isEmpty: true)
            steps += 1
        }
        #expect(steps < 60)
        sweep.begin(AgeLimit(receivedBy: 6, endedBy: 6), behind: 0, through: 1 << 45)
        #expect(sweep.next?.through == Sweep.step)
        sweep.advance(through: Sweep.step, isEmpty: true)
        #expect(sweep.next?.through == 3 * Sweep.step)
        sweep.advance(through: 3 * Sweep.step)
        #expect(sweep.next?.through == 4 * Sweep.step, "the step after one with events is short again")
    }

    @Test("Q4: expired events are counted per dispatcher, and events in flight do not expire")
    func eachItsOwn() {
        let bench = GateBench(["archive", "collect"].map(DispatcherSettings.init(id:)))
        hold(bench)
        bench.track(1)
        bench.track(3, short)
        bench["archive"].answer()
        bench.settle()
        #expect(bench["archive"].sent == [[1], [2, 3, 4]])
        bench.advance(by: .seconds(60))
        #expect(bench.summary().counters[.expired] == 3)
        #expect(bench.summary(of: "archive").counters[.expired] == 0)
        bench["archive"].answer()
        bench.settle()
        #expect(bench.summary(of: "archive").counters[.sent] == 4)
        #expect(bench.gate.stored.events == 1)
    }

    @Test("F2: a flush ends when its last event has expired deep in the backlog")
    func flushEnds() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(1)
        bench.track(1)
        bench.track(3, short)
        hold(bench)
        var answer: FlushAnswer?
        _ = bench.gate.flush(timeout: nil) { answer = $0 }
        bench.sender.answer()
        bench.advance(by: .seconds(30))
        #expect(answer == nil && bench.summary().counters[.expired] == 3)
        release(bench)
        bench.sender.answer()
        bench.settle()
        #expect(answer?.ended == .settled)
        #expect(answer?.dispatchers["collect"] == FlushAnswer.Part(sent: 2, failed: 3, left: 0, blockedBy: []))
    }

    @Test("Q2, Q4: with several batches in flight events that expired behind them are skipped, even across a restart")
    func withGaps() throws {
        let bench = GateBench {
            $0.inFlight = 2
            $0.dispatchLimit = 2
        }
        for _ in 0..<4 { bench.track(2) }
        for _ in 0..<4 {
            bench.track(1, short)
            bench.track(1)
        }
        bench.sender.answer(to: 2)
        bench.settle()
        hold(bench)
        bench.advance(by: .seconds(60))
        #expect(bench.summary().counters[.expired] == 4)
        #expect(bench.summary().pending + bench.summary().inFlight == 10)
        try bench.restart()
        bench.advance(by: .seconds(60))
        #expect(bench.summary().pending == 10)
        bench.sender.reply = { _ in .delivered }
        release(bench)
        #expect(bench.sender.delivered == [1, 2, 5, 6, 7, 8, 10, 12, 14, 16])
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("Q3, Q4: events of a removed dispatcher expire too, and the others are restored")
    func orphan() throws {
        let both = ["archive", "collect"].map(DispatcherSettings.init(id:))
        let bench = GateBench(both)
        for id in ["archive", "collect"] { hold(bench, id) }
        bench.track(2, short)
        bench.track(2)
        bench.gate.removeDispatcher("archive")
        bench.advance(by: .seconds(60))
        #expect(bench.counters[.expired] == 4)
        #expect(bench.gate.stored.events == 2)
        bench.add(both[0])
        bench["archive"].reply = { _ in .delivered }
        release(bench, "archive")
        #expect(bench["archive"].delivered == [3, 4])
        #expect(bench.summary(of: "archive").pending == 0)
        #expect(bench.counters[.quarantined] == 0)
    }

    @Test("Q4: events expired by the sweeper stay expired if max_age is raised")
    func raisedAge() {
        var limits = StoreLimits()
        limits.maxAge = .seconds(100)
        let bench = GateBench(
            ["archive", "collect"].map(DispatcherSettings.init(id:)), limits: limits, reply: { _ in .delivered })
        hold(bench, "archive")
        bench.track(4)
        bench.gate.removeDispatcher("archive")
        bench.advance(by: .seconds(200))
        #expect(bench.counters[.expired] == 4)
        limits.maxAge = .seconds(10_000)
        bench.gate.setLimits(limits)
        bench.add(DispatcherSettings(id: "archive"))
        release(bench, "archive")
        #expect(bench["archive"].delivered.isEmpty)
        #expect(bench.counters[.expired] == 4 && bench.counters[.quarantined] == 0)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q4: an unbuffered event expires at the earlier of max_age and its time to live, in any group")
    func soonerOfBoth() {
        var limits = StoreLimits()
        limits.maxAge = .seconds(100)
        let bench = GateBench(["archive", "collect"].map(DispatcherSettings.init(id:)), limits: limits)
        hold(bench, "archive")
        for group in [[10, 1000, nil], [1000]] {
            for seconds in group { bench.track(EventDraft(timeToLive: seconds.map { .seconds($0) })) }
            bench.settle()
        }
        bench.gate.removeDispatcher("archive")
        for _ in 1...2 {
            bench["collect"].answer()
            bench.settle()
        }
        bench.advance(by: .seconds(60))
        #expect(bench.counters[.expired] == 1 && bench.gate.stored.events == 3)
        bench.advance(by: .seconds(60))
        #expect(bench.counters[.expired] == 4 && bench.gate.stored == .zero)
    }

    @Test("Q8: after a failed read the sweeper asks again, and misses no event")
    func readFault() {
        let bench = GateBench()
        hold(bench)
        bench.track(1)
        bench.track(3, short)
        bench.store.readFault = .failed("slow")
        bench.advance(by: .seconds(60))
        #expect(bench.summary().counters[.expired] == 0)
        bench.store.readFault = nil
        bench.advance(by: .seconds(60))
        #expect(bench.summary().counters[.expired] == 3)
    }

    @Test("Q4, Q8: after slow reads the sweeper pauses for at most five minutes")
    func hangingDisk() {
        let bench = GateBench(["archive", "collect"].map(DispatcherSettings.init(id:)), reply: { _ in .delivered })
        hold(bench, "archive")
        bench.track(3, EventDraft(timeToLive: .seconds(70)))
        bench.settle()
        bench.store.agedReadTime = .seconds(60)
        bench.gate.removeDispatcher("archive")
        bench.advance(by: .seconds(80))
        bench.store.agedReadTime = .zero
        #expect(bench.counters[.expired] == 0)
        bench.advance(by: .seconds(300))
        #expect(bench.counters[.expired] == 3)
    }

    @Test("Q6: a pass has bounded steps, and later passes read only newly expired events")
    func steps() {
        var sweep = Sweep()
        let first = AgeLimit(receivedBy: 10, endedBy: 20)
        sweep.begin(first, behind: 100, through: 40_000)
        var steps: [AgedRange] = []
        while let next = sweep.next {
            steps.append(next)
            sweep.advance(through: next.through)
        }
        #expect(steps.map(\.after) == [100, 100 + Sweep.step, 100 + 2 * Sweep.step])
        #expect(steps.allSatisfy { $0.limit == first && $0.earlier == nil })
        #expect(steps.last?.through == 40_000)
        sweep.begin(AgeLimit(receivedBy: 5, endedBy: 30), behind: 39_000, through: 50_000)
        let both = AgeLimit(receivedBy: 10, endedBy: 30)
        #expect(sweep.next == AgedRange(after: 39_000, through: 40_000, limit: both, earlier: first))
        sweep.advance(through: 40_000)
        #expect(sweep.next == AgedRange(after: 40_000, through: 50_000, limit: both, earlier: nil))
        sweep.advance(through: 50_010)
        #expect(sweep.next == nil)
    }

    @Test("Q3: a busy gate drops the queue of a removed dispatcher in time")
    func busy() {
        let both = ["archive", "collect"].map(DispatcherSettings.init(id:))
        var limits = StoreLimits()
        limits.orphanRetention = .seconds(100)
        let bench = GateBench(both, limits: limits)
        hold(bench, "archive")
        bench.track(2)
        bench.gate.removeDispatcher("archive")
        bench["collect"].reply = { _ in .delivered }
        bench["collect"].answer()
        for _ in 0..<20 {
            bench.track(1)
            bench.advance(by: .seconds(10))
        }
        #expect(bench.counters[.expired] == 2)
        #expect(bench.gate.stored == .zero)
    }
}
