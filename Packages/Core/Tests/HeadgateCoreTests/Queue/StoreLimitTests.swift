import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Limits of the store")
struct StoreLimitTests {
    private func limits(_ change: (inout StoreLimits) -> Void) -> StoreLimits {
        var limits = StoreLimits()
        change(&limits)
        return limits
    }

    @Test("Q4: reject refuses the first event over max_events, and accepts events again when there is room")
    func rejectAtExactEvent() {
        let bench = GateBench(limits: limits { $0.maxEvents = 3 }) { $0.dispatchLimit = 2 }
        let admissions = (0..<4).map { _ in bench.track(EventDraft()) }
        #expect(admissions == [.stored(1), .stored(2), .stored(3), .queueFull])
        bench.settle()
        #expect(bench.track(EventDraft()) == .queueFull)
        bench.sender.answer()
        #expect(bench.track(EventDraft()) == .stored(4))
        #expect(bench.track(EventDraft()) == .stored(5))
        #expect(bench.track(EventDraft()) == .queueFull)
    }

    @Test("Q4: offered, committing and stored events count towards the limit")
    func committingCounts() {
        let bench = GateBench(limits: limits { $0.maxEvents = 3 })
        bench.track(1)
        bench.store.holdsAppends = true
        bench.track(1)
        let admissions = (0..<2).map { _ in bench.track(EventDraft()) }
        #expect(admissions == [.stored(3), .queueFull])
    }

    @Test("Q4: events count until the slowest dispatcher has settled them")
    func slowestCounts() {
        let ids = ["archive", "collect"]
        let bench = GateBench(ids.map(DispatcherSettings.init(id:)), limits: limits { $0.maxEvents = 1 })
        bench.track(1)
        bench["archive"].answer()
        #expect(bench.track(EventDraft()) == .queueFull)
        bench["collect"].answer()
        #expect(bench.track(EventDraft()) == .stored(2))
    }

    @Test("Q4: max_bytes is exact, measured as stored JSON")
    func rejectAtExactByte() {
        let draft = EventDraft("näme", id: "id-1", key: "k", data: #"{"a":[1.50,"\u00e9"]}"#)
        let bench = GateBench()
        bench.track(1, draft)
        let size = bench.gate.stored.bytes
        for (room, admission) in [(2 * size - 1, Admission.queueFull), (2 * size, .stored(2))] {
            let bench = GateBench(limits: limits { $0.maxBytes = room })
            bench.track(1, draft)
            var second = draft
            second.id = "id-2"
            #expect(bench.track(second) == admission)
        }
        let small = GateBench(limits: limits { $0.maxBytes = size - 1 })
        #expect(small.track(draft) == .tooLarge)
    }

    @Test("Q4: stored events are counted exactly in bytes of JSON")
    func countedBytes() {
        let bench = GateBench()
        bench.track(1, EventDraft("n", id: "i", data: #"{"a":1}"#))
        let time = #""2027-01-15T08:00:00.000Z""#
        let head = #"{"id":"i","seq":1,"event":"n","time":"# + time + #","received_at":"# + time
        #expect(bench.gate.stored.bytes == head.utf8.count + #"{"a":1}"#.utf8.count + 2)
        #expect(bench.gate.stored.events == 1)
    }

    @Test("Q4: drop_oldest evicts exactly the surplus of oldest events, and counts them")
    func dropOldest() {
        let bench = GateBench(
            limits: limits {
                $0.maxEvents = 5
                $0.overflow = .dropOldest
            }
        ) { $0.dispatchLimit = 2 }
        bench.track(5)
        #expect(bench.sender.sent == [[1, 2]])
        bench.track(1)
        bench.track(2)
        #expect(bench.gate.stored.events == 5)
        #expect(bench.counters[.evicted] == 3)
        #expect(bench.summary().counters[.evicted] == 3)
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.delivered == [1, 2, 6, 7, 8])
    }

    @Test("Q4: drop_oldest also evicts events over max_bytes")
    func dropOldestByBytes() {
        let bench = GateBench(limits: limits { $0.overflow = .dropOldest })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(3)
        let full = bench.gate.stored.bytes
        bench.changeLimits { $0.maxBytes = full }
        bench.track(1)
        #expect(bench.gate.stored.events == 3)
        #expect(bench.counters[.evicted] == 1)
    }

    @Test("Q4: one dispatcher's full queue does not affect the others")
    func othersAreSpared() {
        let bench = GateBench(
            [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")],
            limits: limits {
                $0.maxEvents = 2
                $0.overflow = .dropOldest
            }, reply: { _ in .delivered })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        for _ in 0..<5 { bench.track(1) }
        #expect(bench["archive"].delivered == [1, 2, 3, 4, 5])
        #expect(bench.summary(of: "archive").counters[.evicted] == 0)
        #expect(bench.summary().counters[.evicted] == 3)
        #expect(bench.summary().pending == 2)
    }

    @Test("Q4, D12: lowered limits are enforced before the next batch, even across a restart")
    func shrunkLimits() throws {
        let bench = GateBench(limits: limits { $0.overflow = .dropOldest })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(10)
        bench.limits.maxEvents = 4
        try bench.restart { _ = $0.gate.resume("collect") { _ in } }
        #expect(bench.sender.sent == [[7, 8, 9, 10]])
        #expect(bench.counters[.evicted] == 6)
    }

    @Test("Q4: drop_oldest waits until the oldest event is known")
    func oldestIsStillRead() throws {
        let both = [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")]
        let bench = GateBench(both, limits: limits { $0.overflow = .dropOldest })
        for id in ["archive", "collect"] { _ = bench.gate.pause(id, reason: nil, isFlushable: false) { _ in } }
        bench.track(2, EventDraft(dispatchers: ["collect"]))
        bench.track(2, EventDraft(dispatchers: ["archive"]))
        bench.limits.maxEvents = 4
        bench.store.readFault = .failed("slow")
        try bench.restart()
        bench.track(1, EventDraft(dispatchers: ["archive"]))
        #expect(bench.counters[.evicted] == 0)
        bench.store.readFault = nil
        bench.advance(by: .seconds(1))
        #expect(bench.summary(of: "collect").counters[.evicted] == 1)
        #expect(bench.summary(of: "archive").counters[.evicted] == 0)
    }

    @Test("Q4, Q3: a removed dispatcher's queue is dropped before younger events of others are evicted")
    func orphanMakesRoom() throws {
        let both = [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")]
        let bench = GateBench(
            both,
            limits: limits {
                $0.maxEvents = 3
                $0.overflow = .dropOldest
            })
        bench.track(3, EventDraft(dispatchers: ["archive"]))
        bench.dispatchers = [DispatcherSettings(id: "collect")]
        try bench.restart()
        bench.track(2)
        #expect(bench.sender.sent == [[4, 5]])
        #expect(bench.summary().counters[.evicted] == 0)
        #expect(bench.counters[.evicted] == 3)
        #expect(bench.gate.stored.events == 2)
    }

    @Test(
        "Q4: a pending event expires at the earlier of max_age and its time to live, to the millisecond",
        arguments: [(5, nil as Int?, 5), (5, 3, 3), (5, 5, 5), (5, 8, 5)])
    func soonerOfBoth(maxAge: Int, timeToLive: Int?, end: Int) {
        let bench = GateBench(limits: limits { $0.maxAge = .seconds(maxAge) })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        // One event is buffered; the others are only in the store.
        bench.track(3, EventDraft(timeToLive: timeToLive.map { .seconds($0) }))
        bench.advance(by: .milliseconds(end * 1000 - 1))
        #expect(bench.summary().counters[.expired] == 0 && bench.summary().pending == 3)
        bench.advance(by: .milliseconds(1))
        #expect(bench.summary().counters[.expired] == 3 && bench.summary().pending == 0)
        #expect(bench.sender.sent.isEmpty)
    }

    @Test("Q4: a returned batch is checked for both limits of age", arguments: [(5, 60), (60, 5)])
    func comesBackTooOld(maxAge: Int, timeToLive: Int) {
        let bench = GateBench(limits: limits { $0.maxAge = .seconds(maxAge) })
        bench.track(2, EventDraft(timeToLive: .seconds(timeToLive)))
        bench.advance(by: .seconds(10))
        #expect(bench.summary().counters[.expired] == 0 && bench.summary().inFlight == 2)
        bench.sender.answer(.status(503))
        bench.settle()
        #expect(bench.summary().counters[.expired] == 2 && bench.gate.stored == .zero)
    }

    @Test("Q4: max_age expires pending events on time, and counts them")
    func maxAge() {
        let bench = GateBench(limits: limits { $0.maxAge = .seconds(10) })
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(2)
        bench.advance(by: .seconds(4))
        bench.track(1)
        bench.advance(by: .milliseconds(5999))
        #expect(bench.counters[.expired] == 0)
        bench.advance(by: .milliseconds(1))
        #expect(bench.counters[.expired] == 2)
        #expect(bench.gate.stored.events == 1)
        bench.advance(by: .seconds(4))
        #expect(bench.counters[.expired] == 3)
        #expect(bench.summary().counters[.expired] == 3)
    }

    @Test("Q4: ttl_ms counts from receipt, and an event expires even behind a pending one")
    func timeToLive() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(1)
        bench.track(1, EventDraft(timeToLive: .milliseconds(100)))
        bench.track(1)
        bench.advance(by: .milliseconds(99))
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.track(1, EventDraft(timeToLive: .milliseconds(100)))
        bench.advance(by: .milliseconds(100))
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [3]])
        #expect(bench.counters[.expired] == 1)
    }

    @Test("Q4: events in flight do not expire")
    func inFlightDoesNotExpire() {
        let bench = GateBench()
        bench.track(1, EventDraft(timeToLive: .seconds(1)))
        bench.advance(by: .seconds(100))
        #expect(bench.counters[.expired] == 0)
        bench.sender.answer()
        bench.settle()
        #expect(bench.counters[.delivered] == 1)
    }

    @Test("Q4, D12: a failed event that has expired meanwhile is not retried")
    func expiredAfterFailure() {
        let bench = GateBench()
        bench.track(1, EventDraft(timeToLive: .seconds(1)))
        bench.advance(by: .seconds(2))
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(10))
        #expect(bench.sender.sent == [[1]])
        #expect(bench.counters[.expired] == 1)
    }
}
