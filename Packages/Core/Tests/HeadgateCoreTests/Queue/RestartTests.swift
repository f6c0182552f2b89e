import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Restart")
struct RestartTests {
    @Test("Q3: a restart restores all unsettled events in order, without charged attempts")
    func givesBack() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        for _ in 0..<5 { bench.track(1) }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2, 3]])
        bench.sender.answer(.status(503))
        bench.settle()
        try bench.restart()
        #expect(bench.sender.sent == [[2, 3]])
        let body = String(decoding: try #require(bench.sender.batches.first).body, as: UTF8.self)
        #expect(body.contains(#""attempt":1,"#) && !body.contains(#""attempt":2"#))
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.delivered == [2, 3, 4, 5])
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q3, D5: backoffs end with a restart")
    func waitsEnd() throws {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(503, retryAfter: .seconds(3600)))
        bench.settle()
        try bench.restart()
        #expect(bench.sender.sent == [[1]])
    }

    @Test("Q3: sequence numbers continue, even if everything was delivered")
    func numbersContinue() throws {
        let bench = GateBench(reply: { _ in .delivered })
        bench.track(3)
        try bench.restart()
        #expect(bench.track(EventDraft()) == .stored(4))
    }

    @Test("Q3: each dispatcher continues at its position")
    func eachItsOwn() throws {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.track(2)
        bench.track(1, EventDraft(dispatchers: ["collect"]))
        bench["archive"].answer()
        bench.settle()
        try bench.restart()
        #expect(bench["archive"].sent.isEmpty)
        #expect(bench["collect"].sent == [[1, 2, 3]])
        #expect(bench.gate.stored.events == 3)
    }

    @Test("Q3: a new dispatcher starts at the newest event")
    func newDispatcher() throws {
        let bench = GateBench()
        bench.track(2)
        bench.dispatchers.append(DispatcherSettings(id: "archive"))
        try bench.restart()
        bench.track(1)
        #expect(bench["archive"].sent == [[3]])
    }

    /// Limits that keep the queue of a removed dispatcher for seven hours.
    private static let briefly: StoreLimits = {
        var limits = StoreLimits()
        limits.orphanRetention = .seconds(7 * 3600)
        return limits
    }()

    @Test("Q3: a removed dispatcher's queue is kept and restored with it")
    func removedComesBack() throws {
        let both = [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")]
        let bench = GateBench(both, limits: Self.briefly)
        bench.track(2)
        bench.dispatchers = [DispatcherSettings(id: "collect")]
        try bench.restart()
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.track(1)
        #expect(bench.gate.stored.events == 2)
        bench.advance(by: .seconds(6 * 3600))
        bench.dispatchers = both
        try bench.restart()
        #expect(bench["archive"].sent == [[1, 2]])
        bench.track(1)
        bench["archive"].answer()
        bench.settle()
        #expect(bench["archive"].sent == [[1, 2], [4]])
        bench.advance(by: .seconds(3 * 3600))
        #expect(bench.counters[.expired] == 0)
    }

    @Test("Q3: the queue is kept for orphan_retention from the removal, then expires and is counted")
    func retentionEnds() throws {
        let both = [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")]
        let bench = GateBench(both, limits: Self.briefly)
        bench.track(2)
        bench.dispatchers = [DispatcherSettings(id: "collect")]
        bench.advance(by: .seconds(3600))
        try bench.restart()
        bench.sender.answer()
        bench.advance(by: .seconds(7 * 3600 - 600))
        try bench.restart()
        #expect(bench.gate.stored.events == 2)
        bench.advance(by: .seconds(660))
        #expect(bench.gate.stored == .zero)
        #expect(bench.counters[.expired] == 2)
        bench.dispatchers = both
        try bench.restart()
        #expect(bench["archive"].sent.isEmpty)
        bench.track(1)
        #expect(bench["archive"].sent == [[3]])
    }

    @Test("Q3: a reused dispatcher number does not inherit a queue")
    func numberIsReused() throws {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.track(2)
        bench.limits.orphanRetention = .zero
        bench.dispatchers = [DispatcherSettings(id: "archive"), DispatcherSettings(id: "other")]
        try bench.restart()
        try bench.restart()
        #expect(bench["archive"].sent == [[1, 2]])
        #expect(bench["other"].sent.isEmpty)
        bench.track(1)
        #expect(bench["other"].sent == [[3]])
    }

    @Test("Q3, Q5: events not stored when the process ended were never acknowledged")
    func unstored() throws {
        let bench = GateBench()
        bench.track(EventDraft())
        try bench.restart()
        #expect(bench.acknowledgements.isEmpty)
        #expect(bench.gate.stored == .zero)
        bench.track(1)
        #expect(bench.sender.sent == [[1]])
    }
}
