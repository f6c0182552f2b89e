import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of rewinds of a dispatcher with the store in memory.
@Suite struct RewindTests {
    private static let retaining: StoreLimits = {
        var limits = StoreLimits()
        limits.retain = RetentionLimits(maxBytes: 1 << 20)
        return limits
    }()

    private func bench(limits: StoreLimits = RewindTests.retaining) -> GateBench {
        GateBench(limits: limits, reply: { _ in .delivered })
    }

    /// Requests a rewind.
    /// - Returns: The result without the times of receipt, or nil if the rewind is not answered yet.
    @discardableResult
    private func rewind(
        _ bench: GateBench, _ id: String = "collect", to target: RewindTarget, isDryRun: Bool = false
    ) -> Result<RewindAnswer, RewindRefusal>? {
        var result: Result<RewindAnswer, RewindRefusal>?
        #expect(bench.gate.rewind(id, to: target, isDryRun: isDryRun) { result = $0 })
        bench.settle()
        return result?.map { answer(in: $0) }
    }

    private func answer(in whole: RewindAnswer) -> RewindAnswer {
        answer(whole.firstSequenceNumber, whole.events, isComplete: whole.isComplete)
    }

    private func answer(_ first: SequenceNumber, _ events: Int, isComplete: Bool = true) -> RewindAnswer {
        RewindAnswer(firstSequenceNumber: first, events: events, isComplete: isComplete)
    }

    @Test("R2: events from a number on are sent again in order, with attempt 1, and marked as replayed")
    func number() throws {
        let bench = bench()
        bench.track(5)
        #expect(rewind(bench, to: .sequenceNumber(3)) == .success(answer(3, 3)))
        #expect(bench.sender.delivered == [1, 2, 3, 4, 5, 3, 4, 5])
        let bodies = bench.sender.batches.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies.count == 2 && !bodies[0].contains("replayed"))
        #expect(bodies[1].contains(#""attempt":1,"replayed":true,"#))
        bench.track(1)
        let last = String(decoding: try #require(bench.sender.batches.last).body, as: UTF8.self)
        #expect(!last.contains("replayed"))
        #expect(bench.summary().counters[.rewinds] == 1)
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("R2, R5: events that the store no longer has are not sent again from memory, and later events are not lost")
    func memory() {
        let (collect, slow) = (DispatcherSettings(id: "collect"), DispatcherSettings(id: "slow"))
        let bench = GateBench([collect, slow], limits: RewindTests.retaining)
        func deliver(_ events: Int) {
            bench.track(events)
            while !bench["collect"].outstanding.isEmpty {
                bench["collect"].answer()
                bench.advance(by: .milliseconds(2))
            }
        }
        deliver(3)
        deliver(2)
        (bench.store.lostThrough, bench.store.uncounted) = (3, 3)
        #expect(rewind(bench, to: .sequenceNumber(1)) == .success(answer(1, 2)))
        deliver(1)
        #expect(bench["collect"].delivered == [1, 2, 3, 4, 5, 4, 5, 6])
    }

    @Test("R2: after a rewind an event has a new idempotency key, which is the same for every attempt")
    func keys() throws {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(1)
        bench.sender.answer()
        bench.settle()
        rewind(bench, to: .sequenceNumber(1))
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(1))
        let keys = bench.sender.batches.map(\.idempotencyKey)
        #expect(keys.count == 3 && keys[0] != keys[1] && keys[1] == keys[2])
    }

    /// Tracks events, each ten seconds after the one before.
    private func track(_ count: Int, on bench: GateBench) {
        for _ in 1...count {
            bench.track(1)
            bench.advance(by: .seconds(10))
        }
    }

    @Test("R2: a time or a duration back selects the first event received at or after that time")
    func times() throws {
        let bench = bench()
        let start = bench.scheduler.wall
        track(4, on: bench)
        #expect(
            rewind(bench, to: .time(Timestamp(milliseconds: start.milliseconds + 15_000))) == .success(answer(3, 2)))
        #expect(rewind(bench, to: .back(.seconds(35))) == .success(answer(2, 3)))
        #expect(rewind(bench, to: .back(.seconds(1))) == .success(answer(5, 0)))
    }

    @Test("R2: a dry run counts the events at once, reports when they were received, and changes nothing")
    func dryRun() throws {
        let bench = bench()
        let start = bench.scheduler.wall
        track(3, on: bench)
        var result: Result<RewindAnswer, RewindRefusal>?
        #expect(bench.gate.rewind("collect", to: .back(.seconds(25)), isDryRun: true) { result = $0 })
        bench.settle()
        let received = [10_000, 20_000].map { Timestamp(milliseconds: start.milliseconds + $0) }
        #expect(
            try result?.get()
                == RewindAnswer(
                    firstSequenceNumber: 2, events: 2, isComplete: true, received: received[0]...received[1]))
        #expect(bench.sender.delivered == [1, 2, 3] && bench.summary().counters[.rewinds] == 0)
        #expect(rewind(bench, to: .sequenceNumber(4), isDryRun: true) == .failure(.future))
        #expect(rewind(bench, to: .back(.seconds(25))) == .success(answer(2, 2)))
    }

    @Test("R2: a dry run waits for no batch, and delays no rewind")
    func dryRunInFlight() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(2)
        #expect(rewind(bench, to: .sequenceNumber(1), isDryRun: true) == .success(answer(1, 0)))
        #expect(rewind(bench, to: .sequenceNumber(1)) == nil)
        #expect(rewind(bench, to: .sequenceNumber(1), isDryRun: true) == .success(answer(1, 0)))
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [1, 2]])
    }

    @Test("R2: batches in flight are finished before the rewind")
    func inFlight() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(2)
        #expect(rewind(bench, to: .sequenceNumber(1)) == nil)
        bench.track(1)
        #expect(bench.sender.sent == [[1, 2]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [1, 2, 3]])
    }

    @Test("R2: events that have expired or were purged are sent again")
    func expiredAndPurged() {
        let bench = GateBench(limits: RewindTests.retaining)
        #expect(bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in })
        bench.track(1, EventDraft(timeToLive: .seconds(5)))
        bench.track(1)
        bench.advance(by: .seconds(6))
        #expect(bench.counters[.expired] == 1)
        #expect(bench.gate.purge("collect") { _ in })
        bench.settle()
        #expect(bench.counters[.purged] == 1)
        #expect(rewind(bench, to: .sequenceNumber(1)) == .success(answer(1, 2)))
        #expect(bench.gate.resume("collect") { _ in })
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
    }

    @Test("R2: a dead letter stays, and its event is sent again")
    func deadLetter() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(1)
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(rewind(bench, to: .sequenceNumber(1)) == .success(answer(1, 1)))
        #expect(bench.store.memory.deadLetters.count == 1 && bench.sender.sent == [[1], [1]])
    }

    @Test("R2: other dispatchers are not affected")
    func others() {
        let bench = GateBench(
            [DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")], limits: RewindTests.retaining,
            reply: { _ in .delivered })
        bench.track(2)
        bench.track(1, EventDraft(dispatchers: ["archive"]))
        #expect(rewind(bench, to: .sequenceNumber(2)) == .success(answer(2, 1)))
        #expect(bench["archive"].delivered == [1, 2, 3] && bench["collect"].delivered == [1, 2, 2])
    }

    @Test("R2, F2: a flush after a rewind counts the events that are delivered again as sent")
    func flushes() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(2)
        var answers: [FlushAnswer] = []
        func flush() { _ = bench.gate.flush(timeout: nil) { answers.append($0) } }
        flush()
        rewind(bench, to: .sequenceNumber(1))
        bench.sender.answer()
        bench.settle()
        #expect(answers.map { $0.dispatchers["collect"]?.sent } == [2])
        flush()
        bench.sender.answer()
        bench.settle()
        let last = answers.last?.dispatchers["collect"]
        #expect(answers.count == 2 && last?.sent == 2 && last?.failed == 0 && last?.left == 0)
    }

    @Test("R3: a rewind into the future is refused")
    func future() {
        let bench = bench()
        bench.track(2)
        let later = Timestamp(milliseconds: bench.scheduler.wall.milliseconds + 1)
        for target in [RewindTarget.sequenceNumber(3), .time(later)] {
            #expect(rewind(bench, to: target) == .failure(.future))
        }
        #expect(bench.sender.delivered == [1, 2] && bench.summary().counters[.rewinds] == 0)
    }

    @Test("R3: a rewind survives a kill from the moment of its answer")
    func kill() throws {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(3)
        bench.sender.answer()
        bench.settle()
        rewind(bench, to: .sequenceNumber(2))
        try bench.restart()
        #expect(bench.sender.sent == [[2, 3]])
        let body = String(decoding: try #require(bench.sender.batches.first).body, as: UTF8.self)
        #expect(body.contains(#""replayed":true"#))
        #expect(bench.gate.stored == .zero)
    }

    @Test("R3: two equal rewinds in one turn are both answered, and no event is lost")
    func again() {
        let bench = bench()
        bench.track(2)
        var answers = 0
        for _ in 1...2 { #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { _ in answers += 1 }) }
        bench.settle()
        #expect(answers == 2 && Set(bench.sender.delivered) == [1, 2] && bench.summary().pending == 0)
        #expect(bench.summary().counters[.rewinds] == 2 && bench.counters[.quarantined] == 0)
    }

    @Test("R3: a store that cannot write refuses the rewind, and the dispatcher continues")
    func storeFails() {
        let bench = bench()
        bench.track(2)
        bench.store.memory.fault = .noRoom("full")
        #expect(rewind(bench, to: .sequenceNumber(1)) == .failure(.store))
        bench.store.memory.fault = nil
        bench.advance(by: .seconds(2))
        bench.track(1)
        #expect(bench.sender.delivered == [1, 2, 3])
    }

    @Test("R3: a rewind that the store refused has no effect on the next one, even if its write is found on the disk")
    func deniedRewind() throws {
        let bench = bench()
        bench.track(4)
        bench.store.deniesRewinds = true
        #expect(rewind(bench, to: .sequenceNumber(1)) == .failure(.store))
        bench.store.deniesRewinds = false
        let answer = try #require(rewind(bench, to: .sequenceNumber(4))).get()
        #expect(answer.events == 1 && bench.sender.delivered == [1, 2, 3, 4, 4])
    }

    @Test("R3: all rewinds that wait for a batch fail when their dispatcher is removed")
    func removed() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(1)
        var results: [Result<RewindAnswer, RewindRefusal>] = []
        for _ in 1...3 { #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { results.append($0) }) }
        bench.settle()
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(results == Array(repeating: .failure(.dispatcherRemoved), count: 3))
    }

    @Test("R1, R3: a rewind to removed events is refused, with the oldest position that is kept")
    func unretained() {
        var limits = RewindTests.retaining
        limits.retain = RetentionLimits(maxAge: .seconds(60))
        let bench = bench(limits: limits)
        bench.track(2)
        bench.advance(by: .seconds(50))
        bench.track(2)
        bench.advance(by: .seconds(130))
        bench.track(1)
        guard case .failure(.notRetained) = rewind(bench, to: .sequenceNumber(1)) else {
            Issue.record("the rewind was not refused")
            return
        }
        #expect(bench.sender.delivered == [1, 2, 3, 4, 5])
    }

    @Test("R1: an idle gate drops retained events late by at most a quarter of the maximum age, and a minute")
    func idle() {
        for (age, late) in [(4, 1), (600, 60), (1, 1)] {
            var limits = RewindTests.retaining
            limits.retain = RetentionLimits(maxAge: .seconds(age))
            let bench = bench(limits: limits)
            bench.track(1)
            bench.advance(by: .seconds(age + late))
            guard case .failure(.notRetained) = rewind(bench, to: .sequenceNumber(1)) else {
                Issue.record("the event is still retained after \(age + late) s")
                return
            }
        }
    }

    @Test("R5: without retention a rewind covers only events that another dispatcher needs, and is incomplete")
    func nothingRetained() {
        let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])
        bench.track(1)
        bench["archive"].answer()
        bench["collect"].answer()
        bench.settle()
        bench.track(2)
        bench["collect"].answer()
        bench.settle()
        #expect(rewind(bench, to: .sequenceNumber(2)) == .success(answer(2, 2, isComplete: false)))
        #expect(bench["collect"].sent.last == [2, 3])
        guard case .failure(.notRetained(let oldest)) = rewind(bench, "archive", to: .sequenceNumber(1)) else { return }
        #expect(oldest?.sequenceNumber == 2)
    }

    @Test("Q4, R2: replayed events take no room from new ones")
    func limits() {
        var limits = RewindTests.retaining
        limits.maxEvents = 3
        let bench = GateBench(limits: limits)
        for _ in 1...2 {
            bench.track(3)
            bench.sender.answer()
            bench.settle()
        }
        rewind(bench, to: .sequenceNumber(1))
        #expect(bench.summary().inFlight == 6)
        #expect(bench.track(EventDraft()) == .stored(7))
    }

    @Test("Q4, R2: with drop_oldest one event above the limit evicts one event of a replay")
    func evictions() {
        var limits = RewindTests.retaining
        (limits.maxEvents, limits.overflow) = (3, .dropOldest)
        let bench = GateBench(limits: limits)
        bench.track(3)
        bench.sender.answer()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        rewind(bench, to: .sequenceNumber(1))
        bench.track(3)
        #expect(bench.counters[.evicted] == 0 && bench.summary().pending == 6)
        bench.track(2)
        #expect(bench.counters[.evicted] == 2 && bench.summary().pending == 6)
        bench.track(2)
        // The replay is over, and the store is within its limits again.
        #expect(bench.summary().pending == 3 && bench.gate.stored.events == 3)
    }

    @Test("O2, R2: after a rewind a trace shows the event as in flight again and as replayed")
    func trace() {
        let bench = GateBench(limits: RewindTests.retaining)
        bench.track(1, EventDraft(id: "one"))
        bench.sender.answer()
        bench.settle()
        rewind(bench, to: .sequenceNumber(1))
        var traces: [DispatcherTrace] = []
        bench.gate.trace("one", in: nil) { traces = (try? $0.get())?.flatMap(\.dispatchers) ?? [] }
        bench.settle()
        #expect(traces.map(\.state) == [.inFlight] && traces.map(\.isReplayed) == [true])
        bench.sender.answer()
        bench.settle()
        bench.gate.trace("one", in: nil) { traces = (try? $0.get())?.flatMap(\.dispatchers) ?? [] }
        bench.settle()
        #expect(traces.map(\.state) == [.delivered] && traces.map(\.isReplayed) == [true])
    }

    @Test("R2: a rewind during a replay starts the replay again at the new position")
    func middle() {
        let bench = GateBench(limits: RewindTests.retaining) { $0.dispatchLimit = 2 }
        bench.sender.reply = { _ in .delivered }
        bench.track(6)
        bench.sender.reply = nil
        rewind(bench, to: .sequenceNumber(1))
        bench.sender.answer()
        bench.settle()
        #expect(rewind(bench, to: .sequenceNumber(2)) == nil)
        bench.sender.reply = { _ in .delivered }
        bench.sender.answer()
        bench.settle()
        #expect(Array(bench.sender.delivered.dropFirst(6)) == [1, 2, 3, 4, 2, 3, 4, 5, 6])
        #expect(bench.summary().pending == 0 && bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }
}
