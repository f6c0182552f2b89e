import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Removing dispatchers with batches in flight")
struct LeavingTests {
    private func bench(_ limits: StoreLimits = StoreLimits()) -> GateBench {
        GateBench(limits: limits) {
            $0.inFlight = 2
            $0.dispatchLimit = 1
        }
    }

    private func comeBack(_ bench: GateBench) {
        bench.add(bench.dispatchers[0])
        bench.settle()
    }

    @Test("Q3: batches in flight finish, and pending events are restored with the dispatcher")
    func finishes() throws {
        let bench = bench()
        bench.track(3)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        old.answer()
        old.answer()
        bench.settle()
        #expect(old.isClosed)
        #expect(old.sent == [[1], [2]])
        #expect(bench.gate.stored.events == 1)
        comeBack(bench)
        #expect(bench.sender.sent == [[3]])
    }

    @Test("Q3: restoring a dispatcher early never undoes settlements")
    func comesBackEarly() throws {
        let bench = bench()
        bench.track(3)
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        old.answer()
        bench.settle()
        comeBack(bench)
        #expect(bench.sender.sent == [[3]])
        try bench.restart()
        #expect(bench.sender.sent == [[2], [3]])
    }

    @Test("Q3: settlements survive a crash during and after the removal")
    func survivesRestart() throws {
        let bench = bench()
        // The dispatcher `other`, which takes none of the events, keeps them in the store.
        bench.dispatchers.append(DispatcherSettings(id: "other"))
        bench.add(bench.dispatchers[1])
        bench.track(3)
        bench.sender.answer()
        bench.settle()
        bench.gate.removeDispatcher("collect")
        bench.settle()
        try bench.restart()
        #expect(bench.sender.sent == [[2], [3]])
        bench.gate.removeDispatcher("collect")
        bench.settle()
        for _ in 1...2 { bench.sender.answer() }
        bench.settle()
        try bench.restart()
        #expect(bench.sender.sent.isEmpty && bench.summary().pending == 0)
    }

    @Test(
        "Q3: retention counts from the last removal, whether the earlier one was complete or not",
        arguments: [false, true])
    func removedAgain(hasLeft: Bool) {
        var limits = StoreLimits()
        limits.orphanRetention = .seconds(1000)
        let bench = bench(limits)
        bench.track(3)
        let first = bench.sender
        bench.gate.removeDispatcher("collect")
        if hasLeft { for _ in 1...2 { first.answer(.status(503)) } }
        bench.advance(by: .seconds(600))
        comeBack(bench)
        bench.gate.removeDispatcher("collect")
        for sender in [first, bench.sender] {
            while !sender.outstanding.isEmpty { sender.answer(.status(503)) }
        }
        bench.advance(by: .seconds(600))
        #expect(bench.counters[.expired] == 0 && bench.gate.stored.events == 3)
        bench.advance(by: .seconds(460))
        #expect(bench.counters[.expired] == 3 && bench.gate.stored == .zero)
    }

    @Test("Q3, F2: flushes do not wait for events of a removed dispatcher, and report them as remaining")
    func flushEnds() {
        let bench = bench()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(3)
        var ends: [FlushAnswer] = []
        _ = bench.gate.flush(timeout: nil) { ends.append($0) }
        bench.settle()
        #expect(ends.isEmpty)
        bench.gate.removeDispatcher("collect")
        #expect(ends.map(\.ended) == [.cancelled])
        #expect(ends.first?.dispatchers["collect"]?.left == 3)
    }

    @Test("F2: a flush of several dispatchers continues with the others when one is removed, and ends unsettled")
    func flushContinues() {
        let bench = bench()
        bench.add(DispatcherSettings(id: "other"))
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(3)
        var ends: [FlushAnswer] = []
        _ = bench.gate.flush(timeout: nil) { ends.append($0) }
        bench.settle()
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(ends.isEmpty && bench.gate.flushes.running.map(\.dispatchers) == [["collect", "other"]])
        bench["other"].answer()
        bench.settle()
        #expect(ends.map(\.ended) == [.cancelled] && ends.first?.dispatchers["other"]?.sent == 3)
        #expect(ends.first?.dispatchers["collect"]?.left == 3 && bench.gate.flushes.running.isEmpty)
    }

    @Test(
        "B23: a pause ends with its dispatcher, so that a new one with its name is not blocked, even after a restart",
        arguments: [false, true])
    func pauseEnds(hasLeft: Bool) throws {
        let bench = bench()
        bench.track(1)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        if hasLeft { old.answer() }
        bench.settle()
        comeBack(bench)
        #expect(!bench.summary().blockedBy.contains("ManualBarrier:collect"))
        try bench.restart()
        #expect(!bench.summary().blockedBy.contains("ManualBarrier:collect"))
    }

    @Test("B23: a restored dispatcher whose queue was dropped is new, and not paused")
    func pauseOfForgotten() throws {
        var limits = StoreLimits()
        limits.orphanRetention = .seconds(1)
        let bench = bench(limits)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
        let settings = bench.dispatchers
        bench.dispatchers = [DispatcherSettings(id: "other")]
        try bench.restart()
        bench.advance(by: .seconds(120))
        #expect(bench.gate.dispatchers.known["collect"] == nil)
        bench.dispatchers = settings
        try bench.restart()
        #expect(bench.summary().isOpen)
    }

    @Test("B23: a pause ends with a dispatcher that is removed between two starts, even if its queue is kept")
    func pauseOfRemoved() throws {
        let bench = bench()
        bench.track(1)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
        let settings = bench.dispatchers
        bench.dispatchers = [DispatcherSettings(id: "other")]
        try bench.restart()
        #expect(bench.gate.dispatchers.known["collect"] != nil)
        bench.dispatchers = settings
        try bench.restart()
        #expect(bench.summary().isOpen)
    }

    @Test("Q3: batches in flight are not dropped even if the retention is zero, and are counted once")
    func staysInFlight() {
        var limits = StoreLimits()
        limits.orphanRetention = .zero
        let bench = bench(limits)
        bench.add(DispatcherSettings(id: "other"))
        bench.track(2, EventDraft(dispatchers: ["collect"]))
        let old = bench.sender
        bench.gate.removeDispatcher("collect")
        bench.settle()
        bench.track(1, EventDraft(dispatchers: ["other"]))
        bench.advance(by: .seconds(61))
        old.answer()
        old.answer()
        bench.advance(by: .seconds(61))
        #expect(bench.counters[.delivered] == 2)
        #expect(bench.counters[.expired] == 0)
        #expect(bench.gate.stored.events == 1)
        comeBack(bench)
        bench.track(2, EventDraft(dispatchers: ["collect"]))
        #expect(bench.sender.sent == [[4], [5]])
    }

    @Test("Q3, Q4: a queue is not dropped while an event for it is being stored, and each event is counted once")
    func storedWhileForgotten() {
        var limits = StoreLimits()
        limits.orphanRetention = .zero
        let bench = bench(limits)
        bench.store.holdsAppends = true
        bench.track(2)
        bench.gate.removeDispatcher("collect")
        // The periodic check for expired queues runs within 61 s.
        bench.advance(by: .seconds(61))
        bench.store.holdsAppends = false
        bench.settle()
        bench.advance(by: .seconds(61))
        #expect(bench.gate.stored == .zero)
        #expect(bench.counters[.expired] == 2)
    }

    @Test("Q3, P1: a dispatcher restored before its drop is written gets later events, even after a kill")
    func backUnwritten() throws {
        var limits = StoreLimits()
        limits.orphanRetention = .zero
        let bench = bench(limits)
        bench.store.memory.fault = .noRoom("full")
        bench.gate.removeDispatcher("collect")
        bench.advance(by: .seconds(61))
        #expect(bench.gate.dispatchers.known["collect"] == nil)
        comeBack(bench)
        // New events are written at once, but the removal that failed earlier is not written yet.
        bench.store.memory.fault = nil
        bench.track(1)
        try bench.restart()
        #expect(bench.sender.sent == [[1]])
    }

    @Test("Q3, D10: a dispatcher number is not reused until the drop of its dispatcher is written")
    func numbers() {
        var limits = StoreLimits()
        limits.orphanRetention = .zero
        let bench = bench(limits)
        let old = bench.gate.dispatchers.known["collect"]?.number
        bench.store.memory.fault = .noRoom("full")
        bench.gate.removeDispatcher("collect")
        bench.advance(by: .seconds(61))
        #expect(bench.gate.dispatchers.known["collect"] == nil)
        bench.add(DispatcherSettings(id: "other"))
        #expect(old != nil && bench.gate.dispatchers.known["other"]?.number != old)
    }
}
