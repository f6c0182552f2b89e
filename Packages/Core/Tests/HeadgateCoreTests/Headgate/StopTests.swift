import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Orderly stop")
struct StopTests {
    let bench = GateBench()

    private func stop(flushing: Bool = true, then: @escaping () -> Void) {
        bench.gate.stop(within: .seconds(10), flushing: flushing) { _ in then() }
        bench.settle()
    }

    @Test("D11: a stop with no pending events ends at once, with everything closed")
    func nothingToDo() {
        var isDone = false
        stop { isDone = true }
        #expect(isDone)
        #expect(bench.sender.isClosed)
        #expect(bench.store.isClosed)
    }

    @Test("D11: a second stop ends with the first one, and a later one at once")
    func again() {
        var ends: [Int] = []
        bench.track(1)
        stop(flushing: false) { ends.append(1) }
        stop { ends.append(2) }
        #expect(ends.isEmpty)
        bench.sender.answer()
        bench.settle()
        #expect(ends == [1, 2])
        bench.gate.stop(within: .zero, flushing: true) { _ in ends.append(3) }
        #expect(ends == [1, 2, 3])
    }

    @Test("D11: batches in flight finish first")
    func inFlightFinishes() throws {
        var isDone = false
        bench.track(1)
        stop(flushing: false) { isDone = true }
        #expect(!isDone)
        bench.sender.answer()
        bench.settle()
        #expect(isDone)
        try bench.restart()
        #expect(bench.sender.sent.isEmpty)
    }

    @Test("D11: without a flush no new batch is sent, and the rest stays stored")
    func noNewBatch() throws {
        let bench = GateBench { $0.dispatchLimit = 1 }
        var isDone = false
        bench.track(3)
        bench.gate.stop(within: .seconds(10), flushing: false) { _ in isDone = true }
        bench.sender.answer()
        bench.settle()
        #expect(isDone)
        #expect(bench.sender.sent == [[1]])
        try bench.restart()
        #expect(bench.sender.sent == [[2]])
    }

    @Test("D11: new settings and new dispatchers during a stop send nothing")
    func changedWhileStopping() throws {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.track(3)
        var isDone = false
        bench.gate.stop(within: .seconds(10), flushing: false) { _ in isDone = true }
        bench.settle()
        let settings = DispatcherSettings(id: "collect")
        bench.gate.changeDispatcher(settings, kind: "test", sender: nil, reachesNetwork: false)
        bench.settle()
        bench.gate.removeDispatcher("collect")
        bench.gate.addDispatcher(settings, kind: "test", sender: bench.sender)
        bench.settle()
        #expect(bench.sender.sent == [[1]])
        bench.sender.answer()
        bench.settle()
        #expect(isDone && bench.sender.sent == [[1]])
    }

    @Test("F5: a stop begins with a flush, which passes a flushable barrier")
    func flushes() throws {
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 9])
        bench.sender.reply = { _ in .delivered }
        bench.track(2)
        bench.track(EventDraft())
        var isDone = false
        stop { isDone = true }
        #expect(isDone)
        #expect(bench.sender.delivered == [1, 2, 3])
        #expect(bench.store.isClosed)
    }

    @Test("F5: a stop ends its flush at once if a backoff or a pause blocks the dispatcher", arguments: [true, false])
    func stuckFlush(isBackoff: Bool) throws {
        bench.track(1)
        if isBackoff {
            bench.sender.answer(.status(503))
        } else {
            bench.sender.answer()
            _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        }
        bench.track(EventDraft())
        var isDone = false
        stop { isDone = true }
        #expect(isDone)
        #expect(bench.scheduler.now == ManualScheduler().now)
        try bench.restart()
        #expect(bench.gate.stored.events == (isBackoff ? 2 : 1))
    }

    @Test("D11: a failing destination does not delay the stop")
    func failsMeanwhile() {
        var isDone = false
        bench.track(1)
        stop { isDone = true }
        bench.sender.answer(.status(503))
        bench.settle()
        #expect(isDone)
        bench.advance(by: .seconds(1000))
        #expect(bench.sender.sent.count == 1)
    }

    @Test("D11: after the timeout batches in flight are interrupted without charge, and stay stored")
    func outOfTime() throws {
        var isDone = false
        bench.track(1)
        stop { isDone = true }
        bench.advance(by: .milliseconds(9999))
        #expect(!isDone)
        bench.advance(by: .milliseconds(1))
        #expect(isDone)
        #expect(bench.sender.interruptions == 1)
        #expect(bench.counters[.retried] == 0)
        try bench.restart()
        #expect(bench.sender.sent == [[1]])
    }

    @Test(
        "D11: after the timeout dispatchers are interrupted in alphabetical order, so that histories are reproducible")
    func inOrder() {
        let ids = (1...8).map { "d\($0)" }
        let bench = GateBench(ids.reversed().map { DispatcherSettings(id: $0) })
        #expect(bench.gate.dispatchers.all.map(\.id) == ids)
    }

    @Test("D11: a closed store gets no further requests")
    func nothingAfterwards() throws {
        bench.track(40)
        bench.track(1, EventDraft(timeToLive: .seconds(5)))
        try bench.restart()
        bench.sender.answer(.status(503))
        var isDone = false
        stop { isDone = true }
        #expect(isDone)
        let reads = bench.store.readCount
        bench.advance(by: .seconds(1000))
        #expect(bench.store.readCount == reads)
        #expect(bench.counters[.expired] == 0)
    }

    @Test("D11, Q8: a store that cannot write does not delay the stop")
    func storeFails() {
        bench.track(1)
        bench.store.memory.fault = .noRoom("full")
        bench.sender.answer()
        bench.track(EventDraft())
        var isDone = false
        stop { isDone = true }
        bench.advance(by: .seconds(2))
        #expect(isDone)
    }

    @Test("D11: a stop without dispatchers ends at once")
    func noDispatchers() {
        for flushing in [false, true] {
            let bench = GateBench([])
            var isDone = false
            bench.gate.stop(within: .seconds(1), flushing: flushing) { _ in isDone = true }
            bench.settle()
            #expect(isDone)
        }
    }

    @Test("D11: a stop with a long backlog sends no event twice, even if the destination is slow")
    func backlog() throws {
        bench.track(2_000)
        var isDone = false
        bench.gate.stop(within: .seconds(2), flushing: true) { _ in isDone = true }
        while !isDone {
            bench.advance(by: .milliseconds(50))
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.interruptions == 0)
        let sent = bench.sender.sent.flatMap(\.self)
        #expect(sent.count < 2_000 && bench.sender.delivered == sent)
    }

    // MARK: Bounds

    @Test(
        "D11, F5: the stop flushes, with any names of the clients' running flushes",
        arguments: ["headgate:shutdown", "flush-1", "flush-2"])
    func namedLikeTheStop(name: String) throws {
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 9])
        bench.sender.reply = { _ in .delivered }
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(2)
        var ends: [FlushAnswer.End] = []
        for name in [name, "flush-3"] { _ = bench.gate.flush(id: name, timeout: nil) { ends.append($0.ended) } }
        _ = bench.gate.resume("collect") { _ in }
        var isDone = false
        stop { isDone = true }
        #expect(isDone && ends == [.settled, .settled])
        #expect(bench.sender.delivered == [1, 2])
    }

    @Test(
        "D11, F5: a client's flush that is blocked does not delay the stop",
        arguments: ["headgate:shutdown", "flush-1"])
    func clientsFlushWaits(name: String) {
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        _ = bench.gate.flush(id: name, timeout: nil) { _ in }
        var isDone = false
        stop { isDone = true }
        #expect(isDone && bench.scheduler.now == ManualScheduler().now)
    }

    @Test(
        "D11: a hanging disk delays the stop by at most five seconds beyond its timeout",
        arguments: [true, false], [0, 1, 2])
    func silentStore(flushing: Bool, before: Int) {
        // The store hangs from the start (0), after events were stored (1), or while an event in flight is being
        // settled (2).
        if before > 0 { bench.track(2) }
        bench.store.isSilent = true
        if before < 2 { bench.track(1) } else { bench.sender.answer() }
        var outcome: StopOutcome?
        bench.gate.stop(within: .seconds(10), flushing: flushing) { outcome = $0 }
        bench.advance(by: .milliseconds(14_999))
        #expect(outcome == nil)
        bench.advance(by: .milliseconds(1))
        #expect(outcome == StopOutcome(batchesLeft: 0, isStoreClosed: false))
        #expect(bench.scheduler.nextDeadline == nil || outcome != nil)
    }

    @Test("D11: a running flush ends with the stop, and reports its counts", arguments: [true, false])
    func flushInProgress(flushing: Bool) {
        var (answers, isDone) = ([FlushAnswer](), false)
        bench.track(1)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { answers.append($0) }
        stop(flushing: flushing) {
            #expect(answers.count == 1)
            isDone = true
        }
        #expect(answers.isEmpty, "the stop waits for the event in flight")
        bench.sender.answer()
        bench.settle()
        #expect(isDone)
        let part = FlushAnswer.Part(sent: 1, failed: 0, left: 1, blockedBy: ["ManualBarrier:collect"])
        #expect(answers == [FlushAnswer(ended: .cancelled, dispatchers: ["collect": part])])
    }

    @Test("D11: a flush that begins while the store does not close ends with the stop")
    func flushWhileClosing() {
        var (answers, isDone) = ([FlushAnswer](), false)
        bench.track(1)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.sender.answer()
        bench.track(1)
        bench.store.isSilent = true
        stop(flushing: false) { isDone = true }
        _ = bench.gate.flush(timeout: nil) { answers.append($0) }
        bench.settle()
        #expect(!isDone && answers.isEmpty)
        bench.advance(by: .seconds(15))
        #expect(isDone && answers.map(\.ended) == [.cancelled])
    }

    @Test("D11: a sender that does not end an interrupted batch is abandoned after a second, and the store is closed")
    func deafSender() throws {
        bench.sender.isDeaf = true
        bench.track(1)
        var outcome: StopOutcome?
        bench.gate.stop(within: .seconds(10), flushing: true) { outcome = $0 }
        bench.advance(by: .milliseconds(10_999))
        #expect(outcome == nil && bench.sender.interruptions == 1)
        bench.advance(by: .milliseconds(1))
        #expect(outcome == StopOutcome(batchesLeft: 1, isStoreClosed: true))
        try bench.restart()
        #expect(bench.sender.sent == [[1]])
    }
}
