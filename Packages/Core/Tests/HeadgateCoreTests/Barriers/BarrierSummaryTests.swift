import HeadgateCore
import HeadgateCoreTesting
import HeadgateData
import Testing

@Suite("Barrier summaries")
struct BarrierSummaryTests {
    let bench = GateBench()

    @Test("B10: the summary has the state and the time of its last change")
    func stateAndSince() throws {
        let start = bench.scheduler.wall
        let barrier = SwitchBarrier(.open)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.all])
        bench.advance(by: .seconds(5))
        #expect(try #require(bench.barrier("door")).since == start)
        barrier.set(.closed)
        bench.advance(by: .seconds(5))
        barrier.set(.closed)
        barrier.setFlushable(false)
        let summary = try #require(bench.barrier("door"))
        #expect(summary.states.map(\.state) == [.closed])
        #expect(summary.states.map(\.dispatcher) == ["collect"])
        #expect(summary.since == Timestamp(milliseconds: start.milliseconds + 5000))
    }

    @Test("B10: the summary shows whether the barrier is flushable")
    func flushability() throws {
        let barrier = SwitchBarrier(.closed, isFlushable: nil)
        bench.gate.registerScopedBarrier(barrier, id: "door", scopes: [.all])
        #expect(try #require(bench.barrier("door")).isFlushable == false)
        barrier.setFlushable(true)
        #expect(try #require(bench.barrier("door")).isFlushable)
    }

    @Test("B10: a dispatcher's summary names the barriers that block it, or during a flush those that block the flush")
    func blockers() {
        let soft = SwitchBarrier(.closed)
        let firm = SwitchBarrier(.closed, isFlushable: false)
        bench.gate.registerScopedBarrier(soft, id: "soft", scopes: [.all])
        bench.gate.registerScopedBarrier(firm, id: "firm", scopes: [.all])
        bench.gate.registerScopedBarrier(SwitchBarrier(.open), id: "open", scopes: [.all])
        bench.track(1)
        #expect(bench.summary().blockedBy == ["soft", "firm"])
        #expect(!bench.summary().isOpen)
        _ = bench.gate.flush(timeout: nil) { _ in }
        bench.settle()
        #expect(bench.summary().blockedBy == ["firm"])
        #expect(bench.summary().isFlushing)
    }

    @Test("B10: built-in barriers have display names, and other barriers use their ids")
    func words() throws {
        try bench.gate.barriers.configure(id: "night", kind: "BatchingBarrier", scopes: nil, configuration: [:])
        bench.gate.registerScopedBarrier(SwitchBarrier(.open), id: "door", scopes: [.all])
        let words = bench.gate.barrierSummaries.map { "\($0.identity.id) \($0.identity.word)" }
        #expect(
            words == [
                "ManualBarrier:collect manual", "BackoffBarrier:collect backoff",
                "DeadLettersBarrier:collect DeadLettersBarrier:collect", "night batching", "door door",
            ])
    }

    @Test("B10: an operator's reason and a backoff's cause are shown while they are in force")
    func reasons() throws {
        _ = bench.gate.pause("collect", reason: "maintenance", isFlushable: false) { _ in }
        #expect(try #require(bench.barrier("ManualBarrier:collect")).reason == "maintenance")
        _ = bench.gate.resume("collect") { _ in }
        #expect(try #require(bench.barrier("ManualBarrier:collect")).reason == nil)
        bench.track(1)
        bench.sender.answer(.noAnswer(cause: "connection refused"))
        #expect(try #require(bench.barrier("BackoffBarrier:collect")).reason == "connection refused")
        bench.advance(by: .seconds(1))
        #expect(try #require(bench.barrier("BackoffBarrier:collect")).reason == nil)
    }

    @Test("B10: a configured barrier shows its configuration")
    func configuration() throws {
        let configuration: DataObject = ["batch_size": 10]
        try bench.gate.barriers.configure(
            id: "BatchingBarrier", kind: "BatchingBarrier", scopes: [.all], configuration: configuration)
        #expect(try #require(bench.barrier("BatchingBarrier")).configuration == configuration)
    }
}
