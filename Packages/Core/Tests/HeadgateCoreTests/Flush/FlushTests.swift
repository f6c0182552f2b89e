import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Flush")
struct FlushTests {
    let bench = GateBench()
    let door = SwitchBarrier(.closed)
    let ends = Ends()

    init() {
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.dispatcher(id: "collect")])
        bench.settle()
    }

    /// Collects the answers of flushes in the order in which they ended.
    final class Ends {
        var answers: [FlushAnswer] = []
        var kinds: [FlushAnswer.End] { answers.map(\.ended) }
    }

    @discardableResult
    private func flush(_ id: String? = nil, timeout: Duration? = nil) -> Result<String, FlushRefusal> {
        bench.gate.flush(id: id, timeout: timeout) { [ends] in ends.answers.append($0) }
    }

    @Test("F1: queued events pass a closed flushable barrier, and later events are not covered")
    func coversWhatWasQueued() {
        bench.track(2)
        flush()
        bench.track(1)
        #expect(bench.sender.sent == [[1, 2]])
        bench.sender.answer()
        bench.settle()
        #expect(ends.kinds == [.settled])
        #expect(bench.sender.sent == [[1, 2]])
        #expect(bench.summary().pending == 1)
    }

    @Test("F1: events offered before the flush are covered, and events offered after it in the same turn are not")
    func coversWhatWasOffered() {
        bench.track(EventDraft())
        flush()
        bench.track(EventDraft())
        bench.settle()
        #expect(bench.sender.sent == [[1]])
        bench.sender.answer()
        bench.settle()
        #expect(ends.answers.first?.dispatchers["collect"] == .init(sent: 1, failed: 0, left: 0, blockedBy: []))
        #expect(bench.sender.sent == [[1]])
    }

    @Test("F1, F2, Q8: a flush does not wait for events that are lost, and counts them as failed")
    func lostCountAsFailed() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        for _ in 0..<10 { bench.track(1) }
        bench.sender.answer()
        bench.settle()
        bench.store.lostThrough = 6
        try bench.restart { bench in
            bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "door", scopes: [.all])
        }
        bench.sender.reply = { _ in .delivered }
        var answers: [FlushAnswer] = []
        _ = bench.gate.flush(id: "f", timeout: nil) { answers.append($0) }
        bench.settle()
        let answer = try #require(answers.first)
        let part = try #require(answer.dispatchers["collect"])
        #expect(answers.count == 1 && answer.ended == .settled && part.left == 0)
        #expect(bench.sender.delivered == [7, 8, 9, 10] && part.sent == 4 && part.failed == 5)
    }

    @Test("F2, Q8: a flush ends even if all its events are lost")
    func allLost() throws {
        bench.track(3)
        bench.store.lostThrough = 3
        try bench.restart { bench in
            _ = bench.gate.flush(timeout: nil) { [ends] in ends.answers.append($0) }
            #expect(bench.summary().isFlushing)
        }
        #expect(ends.kinds == [.settled])
        #expect(ends.answers.first?.dispatchers["collect"] == .init(sent: 0, failed: 3, left: 0, blockedBy: []))
    }

    @Test("R2, F2: replayed events count in flushes that began after the rewind, and in no earlier one")
    func replayed() {
        var table = FlushTable()
        table.start(FlushTable.Flush(id: "a", parts: ["d": FlushTable.Part(target: 10, left: 2)]))
        table.rewound("d")
        table.start(FlushTable.Flush(id: "b", parts: ["d": FlushTable.Part(target: 10, left: 3)]))
        table.settled([9], replayed: [1, 2, 11], of: "d", sent: true, position: 2)
        let parts = table.flushes.map { $0.parts["d"] }
        #expect(parts.map { $0?.sent } == [1, 3] && parts.map { $0?.left } == [1, 0])
    }

    @Test("F1–F4: covered events that settle without an outcome are lost, and count as failed once in every flush")
    func endHere() throws {
        let now = bench.scheduler.now
        var table = FlushTable()
        for (id, target, left) in [("a", SequenceNumber(10), 7), ("b", 20, 12)] {
            table.start(FlushTable.Flush(id: id, parts: ["d": FlushTable.Part(target: target, left: left)]))
        }
        table.settled([1, 2], of: "d", sent: true, position: 9)
        #expect(table.takeOver(at: now).isEmpty && table.target(for: "d") == 20)
        table.settled([], of: "d", sent: false, position: 10)
        let first = table.takeOver(at: now)
        try #require(first.map(\.id) == ["a"])
        #expect(first[0].parts["d"] == FlushTable.Part(target: 10, left: 0, sent: 2, failed: 5))
        table.settled([11, 12, 30], of: "d", sent: false, position: 30)
        let second = table.takeOver(at: now)
        try #require(second.map(\.id) == ["b"])
        #expect(second[0].parts["d"] == FlushTable.Part(target: 20, left: 0, sent: 2, failed: 10))
        #expect(table.flushes.isEmpty && table.target(for: "d") == nil)
    }

    @Test("F1: a flush ends under constant load")
    func endsUnderLoad() {
        bench.track(30)
        flush()
        bench.sender.reply = { _ in .delivered }
        for _ in 0..<3 { bench.track(10) }
        #expect(ends.kinds == [.settled])
        #expect(bench.sender.delivered == Array(1...30))
    }

    @Test("F1: a flush without queued events ends at once, but not before its call returns")
    func nothingQueued() {
        flush()
        #expect(ends.answers.isEmpty)
        bench.settle()
        #expect(ends.kinds == [.settled])
        #expect(!bench.summary().isFlushing)
    }

    @Test("F1: a flush covers events in flight")
    func coversInFlight() {
        door.set(.open)
        bench.track(1)
        flush()
        bench.settle()
        #expect(ends.answers.isEmpty)
        bench.sender.answer()
        bench.settle()
        #expect(ends.kinds == [.settled])
    }

    @Test("F1, Q8: a flush neither waits for nor counts events that could not be stored")
    func unstored() {
        bench.track(1)
        bench.store.memory.fault = .noRoom("full")
        bench.track(EventDraft())
        flush()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(ends.answers.first?.dispatchers["collect"] == .init(sent: 1, failed: 0, left: 0, blockedBy: []))
    }

    @Test("B10, Q8: watchers are notified when a dispatcher's part of a flush ends")
    func partEnds() {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.track(1)
        bench.settle()
        bench["collect"].answer(.delivered)
        bench.settle()
        var reported: [Bool] = []
        let watching = bench.gate.changes.subscribe { [unowned bench] _ in
            reported += bench.gate.dispatcherSummaries.filter { $0.id == "collect" }.map(\.isFlushing)
        }
        bench.store.memory.fault = .noRoom("full")
        bench.track(EventDraft())
        _ = bench.gate.flush(timeout: nil) { [ends] in ends.answers.append($0) }
        bench.settle()
        watching.dispose()
        #expect(ends.answers.isEmpty && reported.contains(true))
        #expect(reported.last == false)
    }

    @Test("F2: the answer has the sent, failed and remaining events, and the blocking barriers")
    func answer() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        let firm = SwitchBarrier(.open, isFlushable: false)
        bench.gate.registerScopedBarrier(firm, id: "firm", scopes: [.all])
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "soft", scopes: [.all])
        bench.track(4)
        _ = bench.gate.flush(timeout: .seconds(10)) { [ends] in ends.answers.append($0) }
        bench.settle()
        bench.sender.answer(.delivered)
        bench.settle()
        bench.sender.answer(.status(400))
        firm.set(.closed)
        bench.advance(by: .seconds(9))
        #expect(ends.answers.isEmpty)
        bench.advance(by: .seconds(1))
        #expect(ends.kinds == [.timeout])
        #expect(ends.answers.first?.dispatchers == ["collect": .init(sent: 1, failed: 1, left: 2, blockedBy: ["firm"])])
        firm.set(.open)
        bench.settle()
        #expect(bench.sender.sent.count == 2)
    }

    @Test("F2: a flush that ends before its timeout leaves no timer")
    func leavesNoTimer() {
        let scheduler = ManualScheduler()
        let turn = PendingEvaluations(scheduler: scheduler)
        let flushes = Flushes(
            scheduler: scheduler, coordinator: BarrierCoordinator(scheduler: scheduler, turn: turn), turn: turn)
        let part = FlushTable.Part(target: 2, left: 2)
        flushes.start("f", parts: ["collect": part], timeout: .seconds(30)) { [ends] in ends.answers.append($0) }
        for number in [1, 2] as [SequenceNumber] {
            scheduler.settle()
            #expect(scheduler.nextDeadline == scheduler.now + .seconds(30))
            flushes.settled([number], of: "collect", sent: true, position: number)
        }
        #expect(ends.kinds == [.settled] && scheduler.nextDeadline == nil)
    }

    @Test("F2: a flush without a timeout lasts until all its events are settled")
    func noTimeout() {
        door.setFlushable(false)
        bench.track(1)
        flush()
        bench.advance(by: .seconds(100_000))
        #expect(ends.answers.isEmpty)
    }

    @Test("F2: a flush ends for a dispatcher that has settled its events, and continues for others")
    func overForOne() {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.track(1)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench["collect"].answer()
        bench.settle()
        #expect(bench.summary(of: "archive").isFlushing && !bench.summary(of: "collect").isFlushing)
    }

    @Test("F2: events that expire during a flush count as settled")
    func expires() {
        door.setFlushable(false)
        bench.track(1, EventDraft(timeToLive: .seconds(1)))
        flush()
        bench.advance(by: .seconds(1))
        #expect(ends.answers.first?.dispatchers["collect"] == .init(sent: 0, failed: 1, left: 0, blockedBy: []))
    }

    @Test("F3: a flush waits while a non-flushable barrier blocks, and continues when it opens")
    func staysArmed() {
        let firm = SwitchBarrier(.closed, isFlushable: false)
        bench.gate.registerScopedBarrier(firm, id: "firm", scopes: [.all])
        bench.track(1)
        flush(timeout: .seconds(30))
        bench.advance(by: .seconds(5))
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.summary().isFlushing)
        firm.set(.open)
        bench.settle()
        #expect(bench.sender.sent == [[1]])
    }

    @Test("F3: a flush waits for a backoff, and continues after it")
    func waitsForRetry() {
        bench.track(1)
        flush()
        bench.settle()
        bench.sender.answer(.status(500))
        bench.advance(by: .milliseconds(500))
        bench.sender.answer()
        bench.settle()
        #expect(ends.kinds == [.settled])
    }

    @Test("F4: two flushes of one dispatcher run together, and each gets its own answer")
    func merge() {
        bench.track(1)
        flush("first")
        bench.settle()
        bench.track(1)
        flush("second")
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(ends.answers.map { $0.dispatchers["collect"]?.sent } == [1])
        bench.sender.answer()
        bench.settle()
        #expect(ends.answers.map { $0.dispatchers["collect"]?.sent } == [1, 2])
        #expect(bench.sender.sent == [[1], [2]])
    }

    @Test("F4: cancelling one of two flushes leaves the other")
    func cancel() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.track(1)
        var ended: [String] = []
        _ = bench.gate.flush(id: "short", timeout: nil) { ended.append("short \($0.ended)") }
        bench.track(1)
        _ = bench.gate.flush(id: "long", timeout: nil) { ended.append("long \($0.ended)") }
        #expect(bench.gate.flushes.cancel("long"))
        #expect(ended == ["long cancelled"])
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(ended == ["long cancelled", "short settled"])
        #expect(bench.sender.sent == [[1]])
        #expect(!bench.gate.flushes.cancel("long"))
    }

    @Test("F4: flushes that end together are answered in order of their start")
    func order() {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench["archive"].reply = { _ in .delivered }
        door.setFlushable(false)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.dispatcher(id: "collect")])
        bench.track(1)
        var ended: [String] = []
        func flush(_ number: Int, _ dispatcher: String, _ timeout: Duration?) {
            _ = bench.gate.flush(id: "\(number)", dispatchers: [dispatcher], timeout: timeout) {
                ended.append("\(number) \($0.ended)")
            }
        }
        for number in 1...10 {
            flush(2 * number - 1, "collect", .zero)
            flush(2 * number, "archive", nil)
        }
        bench.settle()
        #expect(ended == (1...20).map { "\($0) \($0.isMultiple(of: 2) ? "settled" : "timeout")" })
        ended = []
        for number in (1...10).reversed() { flush(number, "collect", nil) }
        door.setFlushable(true)
        bench.settle()
        bench["collect"].answer()
        bench.settle()
        #expect(ended == (1...10).reversed().map { "\($0) settled" })
    }

    @Test("F4: adding, removing or changing a barrier does not end a flush")
    func barrierChanges() {
        door.setFlushable(false)
        bench.track(1)
        flush()
        bench.settle()
        let other = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(other, id: "other", scopes: [.all])
        bench.gate.unregisterScopedBarrier(other)
        bench.settle()
        #expect(bench.summary().isFlushing)
        door.setFlushable(true)
        bench.settle()
        #expect(bench.sender.sent == [[1]])
    }

    @Test("F1: a flush does not affect dispatchers that it does not name")
    func named() {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.track(1)
        _ = bench.gate.flush(dispatchers: ["archive", "archive"], timeout: nil) { _ in }
        bench.settle()
        #expect(bench["archive"].sent == [[1]])
        #expect(bench["collect"].sent.isEmpty)
    }

    @Test("F1: a flush of an unknown dispatcher, or with a name in use, is refused")
    func refusals() throws {
        #expect(bench.gate.flush(dispatchers: ["x"], timeout: nil) { _ in } == .failure(.unknownDispatcher("x")))
        bench.track(1)
        #expect(flush("mine") == .success("mine"))
        #expect(flush("mine") == .failure(.idInUse))
        let made = try flush().get()
        #expect(made != (try flush().get()))
    }

    @Test("Q8, F2: a flush does not wait for events that the store lost")
    func lostEvents() throws {
        bench.track(2)
        bench.track(1)
        bench.store.lostThrough = 2
        try bench.restart()
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        flush()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(ends.kinds == [.settled])
        #expect(bench.sender.sent == [[3]])
    }
}
