import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("Outcomes of events")
struct AccountingTests {
    @Test("P1: at any moment every received event is delivered, dead, expired, evicted or still stored")
    func addsUp() {
        var limits = StoreLimits()
        limits.maxEvents = 12
        limits.overflow = .dropOldest
        let bench = GateBench(limits: limits) {
            $0.dispatchLimit = 3
            $0.maxAttempts = 2
        }
        let results: [SendResult] = [
            .delivered, .status(503), .status(503), .status(400), .noAnswer(cause: "x"), .status(413), .delivered,
        ]
        for step in 0..<60 {
            bench.track(step % 4, EventDraft(timeToLive: step % 3 == 0 ? .seconds(1) : nil))
            bench.sender.answer(results[step % results.count])
            bench.advance(by: .milliseconds(400))
            let counters = bench.counters
            let settled = counters[.delivered] + counters[.dead] + counters[.expired] + counters[.evicted]
            #expect(bench.acknowledgements.count == settled + bench.gate.stored.events)
        }
        for count in [
            bench.counters[.delivered], bench.counters[.dead], bench.counters[.expired], bench.counters[.evicted],
        ] {
            #expect(count > 0)
        }
    }

    @Test("P3: an unrouted event is not stored, and needs no room")
    func unrouted() {
        var limits = StoreLimits()
        limits.maxEvents = 0
        let bench = GateBench(limits: limits) { _ in }
        #expect(bench.track(EventDraft(dispatchers: [])) == .unrouted)
        bench.settle()
        #expect(bench.acknowledgements.map(\.fault) == [nil])
        #expect(bench.store.memory.groupCount == 0)
        #expect(bench.gate.stored == .zero)
    }

    @Test("P3: an event narrowed to some dispatchers reaches only these, and an unknown one is reported")
    func narrowed() throws {
        let bench = GateBench(["a", "b", "c"].map(DispatcherSettings.init(id:)))
        bench.track(1, EventDraft(dispatchers: ["c", "a", "c"]))
        #expect(bench["a"].sent == [[1]] && bench["c"].sent == [[1]] && bench["b"].sent.isEmpty)
        #expect(try bench.gate.route(narrowedTo: ["a", "x"]) == nil)
        #expect(try bench.gate.route(narrowedTo: ["a", "b", "c"]) == bench.gate.route())
    }

    @Test("P1: a failing dispatcher never delays another")
    func independent() {
        let bench = GateBench(["good", "ill"].map(DispatcherSettings.init(id:)))
        bench["good"].reply = { _ in .delivered }
        for _ in 0..<50 {
            bench.track(10)
            bench["ill"].answer(.noAnswer(cause: "unreachable"))
            bench.settle()
        }
        #expect(bench["good"].delivered == Array(1...500))
        #expect(bench.summary(of: "ill").pending == 500)
        #expect(bench.gate.oldestAge == .zero)
        bench.advance(by: .seconds(7))
        #expect(bench.gate.oldestAge == .seconds(7))
    }
}
