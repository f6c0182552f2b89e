import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

/// Dispatchers whose sender has a window: it accepts events one by one, up to a limit of unanswered events.
@Suite struct BatchWindowTests {
    private func bench(limit: Int, inFlight: Int = 1, byteLimit: Int = 10_000_000, keepsOrder: Bool = false)
        -> GateBench
    {
        let bench = GateBench { settings in
            (settings.dispatchLimit, settings.inFlight, settings.byteLimit) = (limit, inFlight, byteLimit)
        }
        bench.sender.capacity = SenderCapacity(isWindow: true, keepsOrder: keepsOrder)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        return bench
    }

    private func resume(_ bench: GateBench) {
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
    }

    private func sizes(_ bench: GateBench) -> [Int] { bench.sender.outstanding.map(\.events.count) }

    @Test("K6, D1: a large window is sent in parts that follow each other, and never exceeds its limit")
    func parts() {
        let bench = bench(limit: 1000)
        bench.track(3000)
        resume(bench)
        #expect(sizes(bench) == [250, 250, 250, 250])
        bench.sender.answer()
        bench.settle()
        #expect(sizes(bench) == [250, 250, 250, 250])
        #expect(bench.summary().inFlight == 1000)
        #expect(bench.sender.sent.flatMap(\.self) == Array(1...1250))
    }

    @Test("D1: a small window is one batch, with in_flight batches at once")
    func small() {
        for (inFlight, expected) in [(1, [50]), (2, [50, 50])] {
            let bench = bench(limit: 50, inFlight: inFlight)
            bench.track(200)
            resume(bench)
            #expect(sizes(bench) == expected)
        }
    }

    @Test("D1: events that arrive one by one form at most as many batches as the window has parts")
    func oneByOne() {
        let bench = bench(limit: 1000)
        resume(bench)
        for _ in 1...10 { bench.track(1) }
        #expect(sizes(bench) == [1, 1, 1, 1])
    }

    @Test("D1, Q6: the events in flight are limited in bytes, and a larger event is sent alone")
    func bytes() {
        let bench = bench(limit: 1000, byteLimit: 200_000)
        bench.track(1000, EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 1000))"}"#))
        resume(bench)
        let sent = bench.sender.outstanding.map(\.body.count)
        #expect(sent.count >= 4 && sent.reduce(0, +) <= 200_000 && sent.allSatisfy { $0 <= 50_000 })
        while let batch = bench.sender.outstanding.first {
            #expect(bench.sender.outstanding.map(\.body.count).reduce(0, +) <= 200_000)
            bench.sender.answer(to: batch.number)
            bench.settle()
        }
        #expect(bench.summary().counters[.sent] == 1000)
        bench.track(1)
        bench.track(1, EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 300_000))"}"#))
        #expect(sizes(bench) == [1])
        bench.sender.answer()
        bench.settle()
        #expect(sizes(bench) == [1] && bench.sender.outstanding[0].isOversize)
    }

    @Test("Q2: events of one key wait for each other, unless the sender keeps their order", arguments: [true, false])
    func keys(keepsOrder: Bool) {
        let bench = bench(limit: 400, keepsOrder: keepsOrder)
        bench.track(300, EventDraft(key: "k"))
        resume(bench)
        #expect(sizes(bench) == (keepsOrder ? [100, 100, 100] : [100]))
        bench.sender.answer(.noAnswer(cause: "x"), to: bench.sender.outstanding[0].number)
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.batches.last?.events.first?.sequenceNumber == 1)
    }

    @Test("B22: behind a batching barrier a whole batch is sent")
    func depth() throws {
        let bench = bench(limit: 1000)
        try bench.gate.barriers.configure(
            id: "BatchingBarrier", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 500])
        bench.track(1200)
        resume(bench)
        #expect(sizes(bench) == [1000])
    }
}
