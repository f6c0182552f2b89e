import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Measures of a gate as a whole (Behaviour O1), with a manual clock.
@Suite("Measures of a gate") struct GateMeasureTests {
    private func measures(of bench: GateBench) -> DispatcherMeasures {
        bench.gate.dispatcherMeasures.first { $0.dispatcher == "collect" }?.measures ?? DispatcherMeasures()
    }

    @Test("O1: the gate counts attempts by outcome and batches by size, and times events from receipt to delivery")
    func delivered() {
        let bench = GateBench { $0.dispatchLimit = 3 }
        bench.track(4)
        bench.advance(by: .seconds(2))
        bench.sender.answer(.status(503))
        bench.settle()
        #expect(measures(of: bench).attempts(.retry).scaledSum == 2)
        bench.advance(by: .seconds(1))
        bench.sender.answer()
        bench.settle()
        bench.sender.answer()
        bench.settle()
        let measures = measures(of: bench)
        #expect(measures.attempts(.delivered).count == 2)
        #expect(measures.attempts(.retry).count == 1)
        #expect(measures.batches.count == 3 && measures.batches.scaledSum == 7)
        #expect(measures.delivery.count == 4)
        // The last event was delayed for one millisecond by the batch delay.
        #expect(measures.delivery.scaledSum == 12.001)
    }

    @Test(
        "O1: an attempt is counted by its outcome",
        arguments: [
            (.delivered, .delivered), (.status(503), .retry), (.status(400), .dead), (.status(413), .retry),
            (.noAnswer(cause: "refused"), .retry), (.returned(cause: "nobody"), .retry), (.lost(cause: "gone"), .retry),
            (.unsendable(cause: "too long"), .dead), (.interrupted, .interrupted),
            (.each([.delivered, .delivered]), .delivered),
            (.each([.delivered, .retry(cause: "x", charged: true)]), .retry),
            (.each([.delivered, .dead(.refused, cause: "x")]), .dead),
            (.each([.dead(.refused, cause: "x"), .retry(cause: "x", charged: true)]), .retry), (.each([]), .retry),
        ] as [(SendResult, AttemptOutcome)])
    func outcomes(_ result: SendResult, _ outcome: AttemptOutcome) {
        let bench = GateBench()
        bench.track(2)
        bench.sender.answer(result)
        let counts = AttemptOutcome.allCases.map { measures(of: bench).attempts($0).count }
        #expect(counts == AttemptOutcome.allCases.map { $0 == outcome ? 1 : 0 })
    }

    @Test("O1: with retries off a failed attempt counts as dead")
    func retriesOff() {
        let bench = GateBench { $0.retryFailedRequests = false }
        bench.track(1)
        bench.sender.answer(.noAnswer(cause: "refused"))
        #expect(measures(of: bench).attempts(.dead).count == 1)
    }

    @Test("O1: an event delivered within a millisecond counts as one millisecond, not as zero")
    func atOnce() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer()
        #expect(measures(of: bench).delivery.scaledSum == 0.001)
    }

    @Test("O1: the acknowledge time ends with the commit, and excludes duplicates and failures")
    func acknowledging() {
        let bench = GateBench()
        bench.track(EventDraft(id: "a"))
        bench.track(EventDraft(id: "a"))
        bench.settle()
        #expect(bench.gate.events.acknowledging.count == 1)
        bench.store.memory.fault = .failed("no")
        bench.track(EventDraft(id: "b"))
        bench.settle()
        #expect(bench.gate.events.acknowledging.count == 1)
    }

    @Test("O1: closed time counts while a barrier blocks, flushable or not, including a barrier without a state")
    func closed() {
        let bench = GateBench()
        let silent = SwitchBarrier(nil)
        let door = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.gate.registerScopedBarrier(silent, id: "silent", scopes: [.all])
        bench.advance(by: .seconds(1))
        door.set(.closed)
        bench.advance(by: .seconds(2))
        silent.set(.open)
        door.set(.open)
        bench.advance(by: .seconds(4))
        let closedTimes = bench.gate.closedTimes.filter { !$0.barrier.contains(":") }
        let now = bench.scheduler.now
        #expect(
            closedTimes.map(\.barrier) == ["door", "silent"]
                && closedTimes.allSatisfy { $0.dispatcher == "collect" })
        #expect(closedTimes.map { $0.time.total(at: now) } == [.seconds(2), .seconds(3)])
        #expect(closedTimes.allSatisfy { !$0.time.isClosed })
    }

    @Test("O1: a barrier that was always open has no closed time, and removed barriers are not reported")
    func opened() {
        let bench = GateBench()
        let door = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(door, id: "door", scopes: [.all])
        bench.advance(by: .seconds(1))
        bench.gate.unregisterScopedBarrier(door)
        let times = bench.gate.closedTimes
        let own = ["ManualBarrier:collect", "BackoffBarrier:collect", "DeadLettersBarrier:collect"]
        #expect(times.map(\.barrier) == own)
        #expect(times.allSatisfy { $0.time.total(at: bench.scheduler.now) == .zero })
    }

    @Test("O1: two barriers with one id are distinguished")
    func twins() {
        let bench = GateBench()
        for _ in 1...2 { bench.gate.registerScopedBarrier(SwitchBarrier(.open), id: "door", scopes: [.all]) }
        let names = bench.gate.closedTimes.map(\.barrier)
        #expect(Set(names).count == names.count)
    }
}
