import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of new dispatchers that start at an earlier event, with the store in memory.
@Suite struct StartTests {
    private static let retaining: StoreLimits = {
        var limits = StoreLimits()
        limits.retain = RetentionLimits(maxBytes: 1 << 20)
        return limits
    }()

    private func bench(limits: StoreLimits = StartTests.retaining) -> GateBench {
        GateBench(limits: limits, reply: { _ in .delivered })
    }

    private func late(_ start: DispatcherStart, _ change: (inout DispatcherSettings) -> Void = { _ in })
        -> DispatcherSettings
    {
        var settings = DispatcherSettings(id: "late")
        settings.start = start
        change(&settings)
        return settings
    }

    @Test("R4: a new dispatcher starts at the newest event, unless its settings say otherwise")
    func newest() {
        let bench = bench()
        bench.track(3)
        bench.add(late(.newest))
        bench.track(1)
        #expect(bench["late"].delivered == [4])
    }

    @Test("R4: with `oldest` a new dispatcher gets every stored event, once, in order and marked as replayed")
    func oldest() throws {
        let bench = bench()
        bench.track(3)
        var reported: [DispatcherStarted] = []
        let subscription = bench.gate.dispatcherStarts.subscribe { reported.append($0) }
        defer { subscription.dispose() }
        bench.add(late(.oldest))
        // An event of the same turn is newer than the dispatcher.
        bench.track(1)
        #expect(bench["late"].delivered == [1, 2, 3, 4] && bench.sender.delivered == [1, 2, 3, 4])
        let body = String(decoding: try #require(bench["late"].batches.first).body, as: UTF8.self)
        #expect(body.components(of: #""replayed":true"#) == 3)
        #expect(reported == [DispatcherStarted(id: "late", firstSequenceNumber: 1, events: 4)])
        #expect(bench.summary(of: "late").counters[.rewinds] == 0 && bench.summary(of: "late").pending == 0)
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("R4: a new dispatcher starts at a sequence number, or a duration back")
    func starts() {
        let starts: [(DispatcherStart, [SequenceNumber])] = [
            (.at(.sequenceNumber(3)), [3, 4]), (.at(.back(.seconds(25))), [3, 4]), (.at(.back(.seconds(5))), []),
            (.at(.back(.seconds(1_000))), [1, 2, 3, 4]), (.at(.sequenceNumber(100)), []),
        ]
        for (start, expected) in starts {
            let bench = bench()
            for _ in 1...4 {
                bench.track(1)
                bench.advance(by: .seconds(10))
            }
            bench.add(late(start))
            bench.settle()
            #expect(bench["late"].delivered == expected)
            bench.track(1)
            #expect(bench["late"].delivered == expected + [5])
        }
    }

    @Test("R4: a start before the oldest kept event begins at that event")
    func dropped() {
        var limits = StartTests.retaining
        limits.retain = RetentionLimits(maxAge: .seconds(60))
        let bench = bench(limits: limits)
        bench.track(2)
        bench.advance(by: .seconds(130))
        bench.track(2)
        bench.add(late(.at(.sequenceNumber(1))))
        bench.settle()
        #expect(bench["late"].delivered == [3, 4])
    }

    @Test("R4, R5: without retention a new dispatcher gets only events that another one has not settled")
    func nothingRetained() {
        let bench = GateBench()
        bench.track(2)
        bench.sender.answer()
        bench.settle()
        bench.reply = { _ in .delivered }
        bench.add(late(.oldest))
        bench.track(1)
        #expect(bench["late"].delivered == [3])
    }

    @Test("R4: the load rule is evaluated for older events as they are read, and events that it rejects do not count")
    func loadRule() {
        let bench = bench()
        for name in ["order", "login", "order", "login"] { bench.track(1, EventDraft(name)) }
        bench.add(
            late(.oldest) {
                $0.loadRule = .just(.equals(ignoreCase: false, variable: "event", target: "order"))
            })
        bench.settle()
        #expect(bench["late"].delivered == [1, 3])
        let summary = bench.summary(of: "late")
        #expect(summary.pending == 0 && summary.counters[.transformedAway] == 0)
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("R4: events of several routes are all found, and later events keep their own routes")
    func routes() {
        let bench = GateBench(
            [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")], limits: StartTests.retaining,
            reply: { _ in .delivered })
        bench.track(1)
        bench.track(1, EventDraft(dispatchers: ["archive"]))
        bench.add(late(.oldest))
        bench.settle()
        bench.track(1, EventDraft(dispatchers: ["archive"]))
        bench.track(1, EventDraft(dispatchers: ["collect", "late"]))
        #expect(bench["late"].delivered == [1, 2, 4])
        #expect(bench["archive"].delivered == [1, 2, 3] && bench["collect"].delivered == [1, 4])
    }

    @Test(
        "R4: after a kill before a dispatcher is at its first event, the next start moves it there, and later ones do not"
    )
    func kill() throws {
        let bench = bench()
        bench.track(3)
        bench.store.rewindFault = .failed("no")
        bench.add(late(.at(.sequenceNumber(2))))
        bench.track(1)
        #expect(bench["late"].sent.isEmpty)
        bench.dispatchers.append(late(.at(.sequenceNumber(2))))
        try bench.restart()
        #expect(bench["late"].sent.isEmpty)
        bench.store.rewindFault = nil
        bench.advance(by: .seconds(2))
        #expect(bench["late"].delivered == [2, 3, 4])
        bench.advance(by: .seconds(2))
        try bench.restart()
        bench.track(1)
        #expect(bench["late"].delivered == [5])
    }

    @Test("R4: `start` has no effect on a dispatcher that the store knows")
    func known() throws {
        let bench = bench()
        bench.track(3)
        bench.dispatchers[0].start = .oldest
        try bench.restart()
        bench.track(1)
        #expect(bench.sender.delivered == [4])
    }

    @Test("R4: a dispatcher removed before it is moved to its first event is moved there when it is restored")
    func removed() {
        let bench = bench()
        bench.track(2)
        bench.store.rewindFault = .failed("no")
        bench.add(late(.oldest))
        bench.settle()
        bench.gate.removeDispatcher("late")
        bench.settle()
        bench.store.rewindFault = nil
        bench.add(late(.oldest))
        bench.advance(by: .seconds(2))
        bench.track(1)
        #expect(bench["late"].delivered == [1, 2, 3])
    }
}

extension String {
    fileprivate func components(of part: String) -> Int {
        split(separator: part, omittingEmptySubsequences: false).count - 1
    }
}
