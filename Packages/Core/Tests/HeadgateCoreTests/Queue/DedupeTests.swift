import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Duplicate ids")
struct DedupeTests {
    let bench = GateBench()

    private func track(_ id: String, of namespace: String = "uid:1000") -> Admission? {
        defer { bench.settle() }
        return bench.track(EventDraft(id: id, namespace: namespace))
    }

    @Test("Q7: an id is stored once, and a duplicate is answered with the first sequence number")
    func duplicate() {
        #expect(track("a") == .stored(1))
        #expect(track("b") == .stored(2))
        #expect(track("a") == .duplicate(1))
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q7: a duplicate in the same group is recognised")
    func sameGroup() {
        bench.track(EventDraft(id: "a"))
        #expect(bench.track(EventDraft(id: "a")) == .duplicate(1))
        bench.settle()
        #expect(bench.gate.stored.events == 1)
    }

    @Test("Q7: ids in different namespaces are independent")
    func namespaces() {
        #expect(track("a", of: "uid:1") == .stored(1))
        #expect(track("a", of: "uid:2") == .stored(2))
        #expect(track("bc", of: "a") == .stored(3))
        #expect(track("c", of: "ab") == .stored(4))
        #expect(track("\u{0}c", of: "ab\u{0}") == .stored(5))
        #expect(track("c", of: "ab\u{0}\u{0}") == .stored(6))
    }

    @Test("Q7: ids created by the service are not compared")
    func madeIds() {
        bench.track(2)
        #expect(bench.gate.stored.events == 2)
    }

    @Test("Q7: duplicates are recognised across a restart")
    func acrossRestart() throws {
        _ = track("a", of: "ns")
        _ = track("ü\u{1F600}", of: "ns")
        try bench.restart()
        #expect(track("ü\u{1F600}", of: "ns") == .duplicate(2))
        #expect(track("a", of: "ns") == .duplicate(1))
        #expect(track("a", of: "other") == .stored(3))
    }

    @Test("Q7, Q11: ids stored by older versions are recognised")
    func olderForm() throws {
        _ = track("x")
        var bytes: [UInt8] = []
        for (number, id) in [(7, "a"), (8, "b")] as [(SequenceNumber, String)] {
            bytes +=
                LittleEndian.bytes(number) + LittleEndian.bytes(UInt32(2)) + LittleEndian.bytes(UInt32(id.utf8.count))
            bytes += Array("ns".utf8) + Array(id.utf8)
        }
        var state = try bench.store.open()
        let stamp = bench.gate.events.presentStamp()
        state.recentIDs = [
            RecentIDs(lastSequenceNumber: 9, receivedStamp: stamp, count: 2, form: .plain, bytes: bytes + [1])
        ]
        let queue = EventQueue(scheduler: bench.scheduler, store: bench.store, limits: bench.limits, state: state)
        for (id, namespace, number) in [("a", "ns", 7), ("b", "ns", 8), ("a", "other", nil)]
            as [(String, String, SequenceNumber?)]
        {
            let admission = EventDraft(id: id, namespace: namespace).withTracked(route: 1, spareId: "s", queue.admit)
            #expect(admission == number.map { .duplicate($0) } ?? .stored(state.lastSequenceNumber + 1))
        }
    }

    @Test("Q7: a duplicate of a delivered event is recognised")
    func afterDelivery() throws {
        bench.sender.reply = { _ in .delivered }
        _ = track("a")
        bench.advance(by: .seconds(120))
        try bench.restart()
        #expect(track("a") == .duplicate(1))
    }

    @Test("Q7: the window ends to the millisecond, and a repeat does not extend it")
    func window() throws {
        _ = track("a")
        bench.advance(by: .seconds(40_000))
        #expect(track("a") == .duplicate(1))
        bench.advance(by: .milliseconds(46_399_999))
        #expect(track("a") == .duplicate(1))
        bench.advance(by: .milliseconds(1))
        #expect(track("a") == .stored(2))
    }

    @Test("Q7: the window ends on time even for events delayed by a slow store")
    func windowOfAHeldGroup() throws {
        bench.store.holdsAppends = true
        _ = track("first")
        _ = track("a")
        bench.advance(by: .seconds(30))
        bench.store.holdsAppends = false
        bench.settle()
        try bench.restart()
        bench.advance(by: .milliseconds(86_369_999))
        #expect(track("a") == .duplicate(2))
        bench.advance(by: .milliseconds(1))
        #expect(track("a") == .stored(3))
    }

    @Test("Q7: a duplicate needs no room, and a refused id is not remembered")
    func full() {
        bench.changeLimits { $0.maxEvents = 1 }
        #expect(track("a") == .stored(1))
        #expect(track("b") == .queueFull)
        #expect(track("a") == .duplicate(1))
    }

    @Test("Q7: dedupe_ids limits the remembered ids, even if it changes at run time")
    func number() {
        bench.changeLimits { $0.dedupeIDs = 10 }
        for number in 1...30 { #expect(track("\(number)") == .stored(SequenceNumber(number))) }
        #expect(bench.gate.events.remembered.ids == 10)
        #expect(track("21") == .duplicate(21))
        #expect(track("20") == .stored(31))
        #expect(track("21") == .stored(32))
        bench.changeLimits { $0.dedupeIDs = 2 }
        #expect(bench.gate.events.remembered.ids == 2)
        #expect(track("21") == .duplicate(32))
        #expect(track("30") == .stored(33))
        bench.changeLimits { $0.dedupeIDs = 0 }
        #expect(track("30") == .stored(34) && track("30") == .stored(35))
        #expect(bench.gate.events.remembered.ids == 0)
    }

    @Test("Q7: a new length of the window applies at once, even to earlier ids")
    func otherLength() {
        #expect(track("a") == .stored(1))
        bench.advance(by: .seconds(60))
        bench.changeLimits { $0.dedupeWindow = .seconds(61) }
        #expect(track("a") == .duplicate(1))
        bench.changeLimits { $0.dedupeWindow = .seconds(60) }
        #expect(track("a") == .stored(2))
    }

    @Test("Q7: the store drops forgotten ids as new ones arrive, so that it holds little more than is remembered")
    func storeForgets() throws {
        bench.changeLimits { $0.dedupeIDs = 160 }
        for number in 1...1000 { _ = track("\(number)") }
        let kept = try bench.store.open().recentIDs.reduce(0) { $0 + $1.count }
        #expect(160...170 ~= kept)
        bench.limits.dedupeIDs = 160
        try bench.restart()
        #expect(track("841") == .duplicate(841))
        #expect(track("840") == .stored(1001))
    }

    @Test("Q7: a start with too many ids keeps the newest")
    func startWithMany() throws {
        for number in 1...100 { _ = track("\(number)") }
        bench.limits.dedupeIDs = 20
        try bench.restart()
        #expect(bench.gate.events.remembered.ids == 20)
        #expect(track("81") == .duplicate(81))
        #expect(track("80") == .stored(101))
    }

    @Test("Q7: status shows the number of remembered ids, and the wall time of the oldest")
    func reported() {
        #expect(bench.gate.events.remembered == (0, nil))
        _ = track("a")
        let first = bench.scheduler.wall
        bench.advance(by: .seconds(10))
        _ = track("b")
        let second = bench.scheduler.wall
        #expect(bench.gate.events.remembered == (2, first))
        bench.advance(by: .seconds(86_390))
        #expect(bench.gate.events.remembered == (1, second))
        bench.advance(by: .seconds(10))
        #expect(bench.gate.events.remembered == (0, nil))
    }

    @Test("Q7: the window continues across a restart")
    func windowOverRestart() throws {
        _ = track("a")
        bench.advance(by: .seconds(80_000))
        _ = track("b")
        try bench.restart()
        bench.advance(by: .seconds(6_400))
        #expect(track("a") == .stored(3))
        #expect(track("b") == .duplicate(2))
        bench.advance(by: .seconds(20_000))
        try bench.restart()
        #expect(track("a") == .duplicate(3))
    }

    @Test("Q7: ids of events that could not be stored are forgotten")
    func failedGroup() {
        bench.store.memory.fault = .failed("broken")
        bench.store.holdsAppends = true
        _ = track("a")
        _ = track("b")
        #expect(track("a") == .duplicate(1))
        bench.store.holdsAppends = false
        bench.store.memory.fault = nil
        bench.store.releaseAppend()
        bench.settle()
        #expect(bench.acknowledgements.allSatisfy { $0.fault != nil })
        #expect(track("a") == .stored(3))
        #expect(track("b") == .stored(4))
    }

    @Test("Q7, Q4: a refused id may be sent again")
    func refusedId() {
        bench.changeLimits { $0.maxEvents = 1 }
        #expect(track("a") == .stored(1))
        #expect(track("b") == .queueFull)
        bench.sender.answer()
        #expect(track("b") == .stored(2))
    }

    @Test("Q7: a long id or namespace is recognised after a restart")
    func longId() throws {
        let long = String(repeating: "x", count: 70_000)
        #expect(track(long, of: long) == .stored(1))
        try bench.restart()
        #expect(track(long, of: long) == .duplicate(1))
    }
}

extension GateBench {
    /// Sets other limits without applying them to the events already stored.
    func changeLimits(_ change: (inout StoreLimits) -> Void) {
        var limits = gate.events.limits
        change(&limits)
        gate.events.setLimits(limits)
    }
}
