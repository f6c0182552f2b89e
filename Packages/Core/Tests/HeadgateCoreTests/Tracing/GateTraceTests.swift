import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Traces of an event in a gate as a whole (Behaviour O2), with a manual clock.
@Suite("Tracing through a gate") struct GateTraceTests {
    private func trace(_ id: String, in namespace: String? = "test", of bench: GateBench) -> [TracedEvent] {
        var found: Result<[TracedEvent], StoreFault>?
        bench.gate.trace(id, in: namespace) { found = $0 }
        bench.settle()
        return (try? found?.get()) ?? []
    }

    /// Returns the status of an event with the dispatcher `collect`.
    private func outcome(_ id: String, of bench: GateBench) -> DispatcherTrace? {
        trace(id, of: bench).last?.dispatchers.first { $0.dispatcher == "collect" }
    }

    /// Tracks events whose ids are the given numbers.
    private func track(_ numbers: ClosedRange<Int>, in bench: GateBench, timeToLive: Duration? = nil) {
        for number in numbers { bench.track(EventDraft("order", id: "\(number)", timeToLive: timeToLive)) }
        bench.settle()
    }

    private func pause(_ bench: GateBench) {
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
    }

    @Test("O2: a pending event shows its position and the barriers that hold it")
    func pending() {
        let bench = GateBench()
        pause(bench)
        track(1...5, in: bench)
        #expect(
            outcome("4", of: bench)
                == DispatcherTrace(
                    dispatcher: "collect", state: .pending, attempts: 0, ahead: 3, blockedBy: ["ManualBarrier:collect"])
        )
        let event = trace("4", of: bench)[0]
        #expect(event.sequenceNumber == 4 && event.name == "order" && event.receivedAt == bench.scheduler.wall)
    }

    @Test("O2: an event in flight shows its start, and a delivered one its time and attempts")
    func delivered() {
        let bench = GateBench()
        track(1...1, in: bench)
        let sent = bench.scheduler.wall
        bench.advance(by: .milliseconds(500))
        #expect(
            outcome("1", of: bench) == DispatcherTrace(dispatcher: "collect", state: .inFlight, at: sent, attempts: 1))
        bench.sender.answer(.status(503))
        bench.settle()
        let held = outcome("1", of: bench)
        #expect(held?.state == .pending && held?.attempts == 1 && held?.lastError == "HTTP 503")
        #expect(held?.ahead == 0 && held?.blockedBy == ["BackoffBarrier:collect"])
        bench.advance(by: .seconds(1))
        bench.sender.answer()
        bench.settle()
        #expect(
            outcome("1", of: bench)
                == DispatcherTrace(
                    dispatcher: "collect", state: .delivered, at: bench.scheduler.wall, attempts: 2,
                    lastError: "HTTP 503"))
    }

    @Test("O2: a dead event shows its dead letter, even after a restart, and a requeued one is a new event of its id")
    func dead() throws {
        let bench = GateBench()
        track(1...2, in: bench)
        bench.sender.answer(.status(400))
        bench.settle()
        let dead = outcome("1", of: bench)
        #expect(dead?.state == .dead && dead?.attempts == 1 && dead?.lastError == "HTTP 400" && dead?.deadLetter == 1)
        try bench.restart()
        #expect(
            outcome("2", of: bench)
                == DispatcherTrace(
                    dispatcher: "collect", state: .dead, at: dead?.at, attempts: 1, lastError: "HTTP 400", deadLetter: 2
                ))
        _ = bench.gate.deadLetters.requeue(of: "collect", [2]) { _ in }
        bench.settle()
        let events = trace("2", of: bench)
        #expect(events.map(\.sequenceNumber) == [3])
        #expect(events.last?.dispatchers.map(\.state) == [.inFlight])
    }

    @Test("O2: an expired, evicted or purged event has that state, whether it was buffered or not")
    func otherEnds() {
        var limits = StoreLimits()
        limits.maxEvents = 3
        limits.overflow = .dropOldest
        let bench = GateBench(limits: limits) { $0.dispatchLimit = 1 }
        pause(bench)
        track(1...1, in: bench, timeToLive: .seconds(1))
        track(2...2, in: bench)
        bench.advance(by: .seconds(2))
        #expect(outcome("1", of: bench)?.state == .expired && outcome("1", of: bench)?.at != nil)
        track(3...5, in: bench)
        #expect(outcome("2", of: bench)?.state == .evicted)
        _ = bench.gate.purge("collect", before: 5) { _ in }
        bench.settle()
        #expect(outcome("4", of: bench)?.state == .purged && outcome("5", of: bench)?.state == .pending)
    }

    @Test("O2: after a restart a pending event is found, by its number or by a scan")
    func restarted() throws {
        let bench = GateBench()
        pause(bench)
        track(1...3, in: bench)
        bench.track(EventDraft("made"))
        bench.settle()
        try bench.restart()
        let event = trace("3", of: bench)[0]
        #expect(event.sequenceNumber == 3 && event.namespace == "test" && event.name == "order")
        #expect(event.dispatchers.map(\.ahead) == [2] && event.dispatchers.map(\.state) == [.pending])
        let made = trace("made-4", of: bench)
        #expect(made.map(\.sequenceNumber) == [4] && made[0].namespace == nil)
        #expect(made[0].dispatchers.map(\.ahead) == [3])
    }

    @Test("O2: events settled before a restart are unknown")
    func forgotten() throws {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "slow")])
        track(1...1, in: bench)
        bench["collect"].answer()
        bench.settle()
        #expect(trace("1", of: bench)[0].dispatchers.map(\.state) == [.delivered, .inFlight])
        try bench.restart()
        #expect(trace("1", of: bench)[0].dispatchers.map(\.dispatcher) == ["slow"])
        bench["slow"].answer()
        bench.settle()
        try bench.restart()
        #expect(trace("1", of: bench).isEmpty && trace("nothing", of: bench).isEmpty)
    }

    @Test("O2: a pending event is found with trace.remember 0, and beyond that limit", arguments: [0, 2])
    func unremembered(_ remembered: Int) {
        let bench = GateBench()
        bench.gate.trace.remembered = remembered
        track(1...1, in: bench)
        bench.sender.answer()
        bench.settle()
        pause(bench)
        track(2...9, in: bench)
        #expect(trace("1", of: bench).isEmpty)
        #expect(outcome("5", of: bench)?.ahead == 3)
        #expect(trace("5", in: nil, of: bench).map(\.sequenceNumber) == [5])
    }

    @Test("O2: the position in a backlog beyond the buffer is counted by the store")
    func deep() {
        let bench = GateBench { $0.dispatchLimit = 1 }
        pause(bench)
        for first in stride(from: 1, to: 2_000, by: 100) { track(first...first + 99, in: bench) }
        #expect(bench.gate.dispatchers["collect"]?.queue.count ?? 0 < 10)
        #expect(outcome("1500", of: bench)?.ahead == 1_499)
    }

    @Test("O2: one id in two namespaces is two events, and the namespace * finds both")
    func namespaces() {
        let bench = GateBench()
        pause(bench)
        bench.track(EventDraft(id: "a", namespace: "one"))
        bench.track(EventDraft(id: "a", namespace: "two"))
        bench.settle()
        bench.gate.trace.remembered = 0
        #expect(trace("a", in: "one", of: bench).map(\.sequenceNumber) == [1])
        #expect(trace("a", in: "two", of: bench).map(\.sequenceNumber) == [2])
        #expect(trace("a", in: nil, of: bench).map(\.sequenceNumber) == [1, 2])
    }

    @Test("O2: an event of a removed dispatcher is pending without barriers")
    func removed() {
        let bench = GateBench()
        pause(bench)
        track(1...3, in: bench)
        bench.gate.removeDispatcher("collect")
        bench.gate.noteOrphans()
        bench.settle()
        #expect(
            outcome("3", of: bench) == DispatcherTrace(dispatcher: "collect", state: .pending, attempts: 0, ahead: 2))
    }

    @Test("O2: with outcomes per event each event of a batch has its own outcome and failure")
    func apart() {
        let bench = GateBench()
        track(1...3, in: bench)
        bench.sender.answer(.each([.delivered, .dead(.refused, cause: "no"), .retry(cause: "later", charged: true)]))
        bench.settle()
        #expect(outcome("1", of: bench)?.state == .delivered && outcome("1", of: bench)?.lastError == nil)
        #expect(outcome("2", of: bench)?.state == .dead && outcome("2", of: bench)?.lastError == "no")
        #expect(outcome("3", of: bench)?.state == .pending && outcome("3", of: bench)?.lastError == "later")
    }

    @Test("O2: events received by an earlier daemon and settled by this one are known until the next restart")
    func acrossDaemons() throws {
        let bench = GateBench { $0.dispatchLimit = 3 }
        pause(bench)
        track(1...6, in: bench)
        try bench.restart()
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(1))
        bench.sender.answer(.each([.delivered, .dead(.refused, cause: "no"), .delivered]))
        bench.settle()
        let one = trace("1", of: bench)
        #expect(one.map(\.sequenceNumber) == [1] && one[0].namespace == "test" && one[0].name == "order")
        #expect(one[0].receivedAt != nil)
        #expect(
            one[0].dispatchers == [
                DispatcherTrace(
                    dispatcher: "collect", state: .delivered, at: bench.scheduler.wall, attempts: 2,
                    lastError: "HTTP 503")
            ])
        #expect(outcome("2", of: bench)?.state == .dead && outcome("2", of: bench)?.deadLetter == 1)
        #expect(trace("3", in: nil, of: bench).map(\.sequenceNumber) == [3])
        _ = bench.gate.purge("collect") { _ in }
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(outcome("5", of: bench)?.state == .delivered)
        try bench.restart()
        #expect(trace("1", of: bench).isEmpty)
    }

    @Test("O2: the newest trace.remember events of an earlier daemon are remembered")
    func earlierBounded() throws {
        let bench = GateBench(reply: { _ in .delivered })
        pause(bench)
        track(1...9, in: bench)
        try bench.restart()
        bench.gate.trace.remembered = 4
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect((1...9).filter { !trace("\($0)", of: bench).isEmpty } == [6, 7, 8, 9])
        bench.gate.trace.remembered = 2
        #expect((1...9).filter { !trace("\($0)", of: bench).isEmpty } == [8, 9])
    }

    @Test("O2: a requeued event keeps its namespace, also after a restart", arguments: [false, true])
    func requeuedNamespace(isRestarted: Bool) throws {
        let bench = GateBench()
        track(1...1, in: bench)
        bench.sender.answer(.status(400))
        bench.settle()
        if isRestarted { try bench.restart() }
        _ = bench.gate.trace.number(ofNamespace: "test")
        _ = bench.gate.deadLetters.requeue(of: "collect", [1]) { _ in }
        bench.settle()
        #expect(trace("1", in: nil, of: bench).last?.namespace == "test")
        #expect(trace("1", of: bench).last?.sequenceNumber == 2)
        #expect(!trace("1", in: "another", of: bench).map(\.sequenceNumber).contains(2))
    }

    @Test(
        "O2: a requeued event keeps its namespace when the daemon restarts before the delivery, and after the delivery",
        arguments: [
            (#"{"client":"a/1","uid":1000}"#, "uid:1000"),
            (#"{"client":"a/1","uid":1000,"namespace":"shop"}"#, "shop"), (#"{"uid":1000}"#, nil),
        ])
    func requeuedThenRestarted(context: String, namespace: String?) throws {
        let bench = GateBench(environment: { $0.readObject = DocumentReader.read })
        var draft = EventDraft(id: "a", namespace: namespace ?? "shop")
        draft.context = context
        bench.track(draft)
        bench.settle()
        bench.sender.answer(.status(400))
        bench.settle()
        pause(bench)
        _ = bench.gate.deadLetters.requeue(of: "collect", [1]) { _ in }
        bench.settle()
        try bench.restart()
        #expect(trace("a", in: nil, of: bench).map(\.namespace) == [namespace])
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(trace("a", in: nil, of: bench).map(\.namespace) == [namespace])
        #expect(trace("a", in: namespace ?? "shop", of: bench).map(\.sequenceNumber) == [2])
        #expect(trace("a", in: "another", of: bench).isEmpty == (namespace != nil))
    }

    @Test("O2: a namespace of the greatest length is not cut, so that it finds its events")
    func longNamespace() {
        let trace = GateBench().gate.trace
        let namespace = "uid:1000/" + String(repeating: "😀", count: 256)
        #expect(trace.namespace(trace.number(ofNamespace: namespace)) == namespace)
    }

    @Test("O2: waiting queries share one scan, which ends when no query is left")
    func oneScan() {
        let bench = GateBench()
        pause(bench)
        track(1...100, in: bench)
        bench.gate.trace.remembered = 0
        var answers: [Int: Int] = [:]
        var isAwaited = true
        for number in 1...300 {
            let isAwaitedNow = { isAwaited || number <= 100 }
            bench.gate.trace("\(number)", in: nil, isAwaited: isAwaitedNow) {
                answers[number] = (try? $0.get())?.count
            }
        }
        isAwaited = false
        let reads = bench.store.readCount
        bench.settle()
        #expect(bench.store.readCount - reads < 20)
        #expect(answers.count == 300)
        #expect((1...100).allSatisfy { answers[$0] == 1 } && (101...300).allSatisfy { answers[$0] == 0 })
        let isUnwanted = { false }
        bench.gate.trace("x", in: nil, isAwaited: isUnwanted) { _ in }
        let before = bench.store.readCount
        bench.settle()
        #expect(bench.store.readCount == before)
    }

    @Test("O2: positions at several dispatchers are counted by one scan per dispatcher")
    func countedTogether() {
        let bench = GateBench(
            ["archive", "collect"].map { id in
                var settings = DispatcherSettings(id: id)
                settings.dispatchLimit = 1
                return settings
            })
        for id in ["archive", "collect"] { _ = bench.gate.pause(id, reason: nil, isFlushable: false) { _ in } }
        for first in stride(from: 1, to: 1_000, by: 100) { track(first...first + 99, in: bench) }
        var ahead: [Int: [Int?]] = [:]
        for number in [700, 900, 800] {
            bench.gate.trace("\(number)", in: "test") { result in
                ahead[number] = (try? result.get())?.first?.dispatchers.map(\.ahead)
            }
        }
        bench.settle()
        #expect(ahead == [700: [699, 699], 800: [799, 799], 900: [899, 899]])
    }

    @Test("O2: a failing store fails the query, and the next query is answered")
    func faulty() {
        let bench = GateBench()
        pause(bench)
        track(1...3, in: bench)
        bench.gate.trace.remembered = 0
        bench.store.readFault = .failed("no")
        var fault: StoreFault?
        bench.gate.trace("unheard", in: "test") { if case .failure(let failure) = $0 { fault = failure } }
        bench.settle()
        #expect(fault == .failed("no"))
        bench.store.readFault = nil
        #expect(outcome("2", of: bench)?.state == .pending)
    }
}
