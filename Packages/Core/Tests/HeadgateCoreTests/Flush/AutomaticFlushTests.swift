import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Automatic flushes")
struct AutomaticFlushTests {
    let bench = GateBench([DispatcherSettings(id: "archive"), DispatcherSettings(id: "collect")])

    init() throws {
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: [.dispatcher(id: "collect")], configuration: ["batch_size": 10])
        bench["archive"].reply = { _ in .delivered }
        bench.settle()
    }

    @Test("F5: an automatic flush lasts until its events are settled, even after a long outage of the destination")
    func outage() {
        bench.track(3)
        bench.gate.flushAutomatically()
        bench.settle()
        bench["collect"].answer(.status(503, retryAfter: .seconds(40)))
        bench.advance(by: .seconds(40))
        #expect(bench["collect"].sent == [[1, 2, 3], [1, 2, 3]])
        for _ in 0..<200 {
            bench["collect"].answer(.noAnswer(cause: "connection refused"))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.summary().isFlushing)
        bench["collect"].answer()
        bench.track(1)
        #expect(bench["collect"].delivered == [1, 2, 3] && !bench.summary().isFlushing)
        #expect(bench["collect"].outstanding.isEmpty, "the later event waits for a full batch")
    }

    @Test("F5: each dispatcher has at most one automatic flush, independent of clients' flushes")
    func bounded() {
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        _ = bench.gate.flush(id: "mine", timeout: nil) { _ in }
        for _ in 0..<100 {
            bench.track(1)
            bench.gate.flushAutomatically()
            bench.gate.flushAutomatically(["collect"])
            bench.settle()
        }
        #expect(
            bench.gate.flushes.table.flushes.map { $0.parts.keys.sorted() } == [["archive", "collect"], ["collect"]])
    }
}
