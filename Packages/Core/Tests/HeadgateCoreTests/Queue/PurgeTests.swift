import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Purging a queue")
struct PurgeTests {
    private func purge(
        _ bench: GateBench, _ id: String = "collect", before: SequenceNumber? = nil
    ) -> Result<Int, PurgeFault>? {
        var result: Result<Int, PurgeFault>?
        #expect(bench.gate.purge(id, before: before) { result = $0 })
        bench.settle()
        return result
    }

    private func closed(_ bench: GateBench) -> SwitchBarrier {
        let barrier = SwitchBarrier(.closed)
        bench.gate.registerScopedBarrier(barrier, id: "hold", scopes: [.dispatcher(id: "collect")])
        return barrier
    }

    @Test("P1: all pending events are purged and counted, and later ones are sent")
    func all() {
        let bench = GateBench()
        let barrier = closed(bench)
        bench.track(1_000)
        #expect(purge(bench) == .success(1_000))
        #expect(bench.counters[.purged] == 1_000 && bench.summary().counters[.purged] == 1_000)
        #expect(bench.summary().pending == 0 && bench.gate.stored == .zero)
        bench.track(1)
        barrier.set(.open)
        bench.settle()
        #expect(bench.sender.sent == [[1_001]])
    }

    @Test("Only events before a number are purged")
    func before() {
        let bench = GateBench()
        let barrier = closed(bench)
        bench.track(10)
        #expect(purge(bench, before: 4) == .success(3))
        #expect(purge(bench, before: 4) == .success(0))
        #expect(purge(bench, before: .max) == .success(7))
        bench.track(1)
        barrier.set(.open)
        bench.settle()
        #expect(bench.sender.sent == [[11]])
    }

    @Test("Events in flight stay, even if they are retried")
    func inFlight() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(5)
        #expect(bench.sender.sent == [[1, 2]])
        #expect(purge(bench) == .success(3))
        bench.sender.answer(.status(503))
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent == [[1, 2], [1, 2]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.delivered == [1, 2] && bench.gate.stored == .zero)
    }

    @Test("Other dispatchers get the purged events")
    func others() {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "archive")])
        let barrier = closed(bench)
        bench.track(3)
        #expect(purge(bench) == .success(3))
        bench["archive"].answer()
        barrier.set(.open)
        bench.settle()
        #expect(bench["archive"].delivered == [1, 2, 3] && bench.sender.sent.isEmpty)
        #expect(bench.gate.stored == .zero)
        #expect(!bench.gate.purge("nowhere") { _ in })
    }

    @Test("F2: a flush ends when its events are purged, and counts them as failed")
    func flush() {
        let bench = GateBench()
        let barrier = SwitchBarrier(.closed, isFlushable: false)
        bench.gate.registerScopedBarrier(barrier, id: "hold", scopes: [.all])
        bench.track(4)
        var answer: FlushAnswer?
        _ = bench.gate.flush(timeout: nil) { answer = $0 }
        bench.settle()
        #expect(answer == nil)
        #expect(purge(bench) == .success(4))
        #expect(answer?.ended == .settled)
        #expect(answer?.dispatchers["collect"].map { [$0.sent, $0.failed, $0.left] } == [0, 4, 0])
    }

    @Test("Q3: a purge survives a restart")
    func restart() throws {
        let bench = GateBench()
        _ = closed(bench)
        bench.track(50)
        #expect(purge(bench, before: 41) == .success(40))
        try bench.restart()
        #expect(bench.sender.sent == [Array(41...50)])
    }

    @Test("Q3: events purged after an event in flight do not return after a restart")
    func restartWhileSending() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(600)
        #expect(purge(bench) == .success(598))
        try bench.restart()
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q6: a stored queue is purged in small steps, with few events in memory")
    func fromStore() throws {
        let bench = GateBench()
        _ = closed(bench)
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 10_000))"}"#)
        for _ in 0..<20 { bench.track(100, large) }
        let reads = bench.store.readCount
        var result: Result<Int, PurgeFault>?
        #expect(bench.gate.purge("collect") { result = $0 })
        bench.settle()
        #expect(result == .success(2_000))
        #expect(bench.store.readCount > reads)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Events offered before the purge in the same turn are purged, and later ones are not")
    func offered() {
        let bench = GateBench()
        let barrier = closed(bench)
        bench.track(EventDraft())
        var count: Int?
        #expect(bench.gate.purge("collect") { count = try? $0.get() })
        bench.track(EventDraft())
        bench.settle()
        barrier.set(.open)
        bench.settle()
        #expect(count == 1)
        #expect(bench.sender.sent == [[2]])
    }

    @Test("D11: the purge of a dispatcher removed meanwhile ends as incomplete")
    func removed() {
        let bench = GateBench()
        _ = closed(bench)
        bench.track(3)
        var result: Result<Int, PurgeFault>?
        #expect(bench.gate.purge("collect") { result = $0 })
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(result == .failure(.dispatcherRemoved(purged: 0)))
    }

    @Test("Q8: a purge that waits for a failing store ends with the dispatcher")
    func removedWhileReading() throws {
        let bench = GateBench()
        bench.track(3)
        bench.store.readFault = .failed("on fire")
        try bench.restart()
        var result: Result<Int, PurgeFault>?
        #expect(bench.gate.purge("collect") { result = $0 })
        bench.advance(by: .seconds(60))
        #expect(result == nil)
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(result == .failure(.dispatcherRemoved(purged: 0)))
    }

    @Test("Two purges at once count each event once")
    func twice() {
        let bench = GateBench()
        _ = closed(bench)
        bench.track(6)
        var counts: [Int] = []
        #expect(bench.gate.purge("collect", before: 4) { counts.append((try? $0.get()) ?? -1) })
        #expect(bench.gate.purge("collect") { counts.append((try? $0.get()) ?? -1) })
        bench.settle()
        #expect(counts == [3, 3])
        #expect(bench.counters[.purged] == 6 && bench.counters[.evicted] == 0)
    }
}
