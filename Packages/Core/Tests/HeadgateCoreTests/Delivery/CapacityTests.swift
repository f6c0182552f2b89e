import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

/// Senders that report how many batches and events they can accept.
@Suite struct CapacityTests {
    @Test("K3: the batches in flight are limited by the destination's capacity and by in_flight")
    func batches() {
        let bench = GateBench {
            $0.inFlight = 3
            $0.dispatchLimit = 1
        }
        bench.sender.capacity = SenderCapacity(batches: 0)
        bench.track(5)
        #expect(bench.sender.sent.isEmpty)
        #expect(bench.summary().pending == 5)
        #expect(bench.summary().inFlight == 0)
        bench.sender.capacity = SenderCapacity(batches: 2)
        bench.gate.dispatchers.destinationHasRoom("collect")
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.sender.capacity = SenderCapacity()
        bench.gate.dispatchers.destinationHasRoom("collect")
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [3]])
        bench.gate.dispatchers.destinationHasRoom("nobody")
        bench.settle()
    }

    @Test("K3: the next batch has at most as many events as the destination accepts")
    func events() {
        let bench = GateBench { $0.dispatchLimit = 3 }
        bench.sender.capacity = SenderCapacity(batches: 0)
        bench.track(6)
        for events in [2, 5] {
            bench.sender.capacity = SenderCapacity(batches: 1, events: events)
            bench.gate.dispatchers.destinationHasRoom("collect")
            bench.settle()
            bench.sender.answer()
        }
        #expect(bench.sender.sent.prefix(2) == [[1, 2], [3, 4, 5]])
    }

    @Test("D1: after an answer few events wait for a full batch, for at most a millisecond")
    func linger() {
        let bench = GateBench { $0.dispatchLimit = 3 }
        bench.track(2)
        bench.track(1)
        bench.sender.answer()
        trackOne(bench)
        #expect(bench.sender.sent == [[1, 2]])
        trackOne(bench)
        #expect(bench.sender.sent == [[1, 2], [3, 4, 5]])
        trackOne(bench)
        bench.sender.answer()
        bench.advance(by: .microseconds(999))
        #expect(bench.sender.sent.count == 2)
        bench.advance(by: .microseconds(1))
        #expect(bench.sender.sent.last == [6])
        // The batch delay is no longer applied.
        bench.sender.answer()
        trackOne(bench)
        #expect(bench.sender.sent.last == [7])
    }

    @Test("D1: after an answer a batch that reaches byte_limit is sent at once")
    func wholeByBytes() {
        let bench = GateBench { $0.byteLimit = 2_000 }
        bench.track(1)
        bench.track(1, EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 2_000))"}"#))
        bench.sender.answer()
        bench.scheduler.settle()
        #expect(bench.sender.sent == [[1], [2]])
    }

    @Test("D13, F1: the batch delay ends when a barrier closes or a flush begins", arguments: [true, false])
    func lingerEnds(isFlush: Bool) {
        let bench = GateBench { $0.annotateQueued = true }
        bench.track(1)
        bench.track(1)
        bench.sender.answer()
        bench.scheduler.settle()
        #expect(bench.sender.sent == [[1]])
        if isFlush {
            _ = bench.gate.flush(timeout: nil) { _ in }
            bench.scheduler.settle()
            return #expect(bench.sender.sent == [[1], [2]])
        }
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        trackOne(bench)
        _ = bench.gate.resume("collect") { _ in }
        bench.scheduler.settle()
        #expect(queuedInLast(bench) == 2)
    }

    @Test("D13: there is no batch delay after an answer while a barrier blocks")
    func heldBehindAnswer() {
        let bench = GateBench { $0.annotateQueued = true }
        bench.track(2)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        trackOne(bench)
        bench.sender.answer()
        trackOne(bench)
        _ = bench.gate.resume("collect") { _ in }
        bench.scheduler.settle()
        #expect(queuedInLast(bench) == 2)
    }

    private func queuedInLast(_ bench: GateBench) -> Int {
        String(decoding: bench.sender.batches.last?.body ?? [], as: UTF8.self).ranges(of: "was_queued").count
    }

    /// Tracks one event without advancing the clock.
    private func trackOne(_ bench: GateBench) {
        bench.track(EventDraft())
        bench.scheduler.settle()
    }

    @Test("D1: after an answer a full batch is sent at once")
    func wholeBatch() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(1)
        bench.track(2)
        bench.sender.answer()
        bench.scheduler.endTurn()
        #expect(bench.sender.sent == [[1], [2, 3]])
    }

    @Test("D9: a batch reports the maximum attempts of its events")
    func attempt() {
        let bench = GateBench()
        bench.track(1)
        bench.sender.answer(.status(500))
        bench.track(1)
        bench.advance(by: .seconds(1))
        #expect(bench.sender.batches.last?.events.map(\.attempt) == [2, 1])
        #expect(bench.sender.batches.last?.attempt == 2)
    }
}
