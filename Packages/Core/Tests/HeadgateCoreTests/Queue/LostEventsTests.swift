import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("A store that loses events or fails")
struct LostEventsTests {
    @Test("Q8: missing events are counted as quarantined, and the others are delivered")
    func quarantined() throws {
        let bench = GateBench()
        bench.track(3)
        bench.track(2)
        bench.store.lostThrough = 3
        try bench.restart()
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.delivered == [4, 5])
        #expect(bench.counters[.quarantined] == 3)
        #expect(bench.summary().pending == 0)
        #expect(bench.gate.stored == .zero)
        bench.track(1)
        #expect(bench.sender.sent.last == [6])
    }

    @Test("Q8: if all events are lost, no event stays pending")
    func allGone() throws {
        let bench = GateBench()
        bench.track(3)
        bench.store.lostThrough = 3
        try bench.restart()
        #expect(bench.counters[.quarantined] == 3)
        #expect(bench.gate.stored == .zero)
    }

    @Test("Q8: later events are delivered even if a damaged store has counted too few")
    func countedTooFew() throws {
        let bench = GateBench()
        bench.track(3)
        bench.store.uncounted = 1
        try bench.restart()
        #expect(bench.sender.sent == [[1, 2, 3]])
        bench.track(2)
        #expect(bench.summary().pending == 2)
        for _ in 1...2 {
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.delivered == [1, 2, 3, 4, 5])
        #expect(bench.gate.stored == .zero)
        #expect(bench.counters[.delivered] == 5 && bench.counters[.quarantined] == 0)
    }

    @Test("Q8: later events are delivered even if the sweeper settles more than was counted")
    func expiredUncounted() throws {
        let bench = GateBench(reply: { _ in .delivered })
        let hold = { (bench: GateBench) in _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in } }
        hold(bench)
        bench.track(1)
        bench.track(2, EventDraft(timeToLive: .seconds(1)))
        bench.store.uncounted = 1
        try bench.restart(hold)
        bench.advance(by: .seconds(60))
        #expect(bench.counters[.expired] == 2)
        bench.track(1)
        _ = bench.gate.resume("collect") { _ in }
        bench.settle()
        #expect(bench.sender.delivered == [1, 4])
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0)
    }

    @Test("Q8: an invalid record ends its chunk, and the next chunk is read")
    func damagedRecord() throws {
        let bench = GateBench()
        bench.track(2)
        var queue = DispatcherQueue(number: 1, settled: Settled(through: 0))
        let sound = try #require(bench.gate.events.recentChunk(after: 0))
        for damage in [{ (bytes: inout [UInt8]) in bytes[0] = 255 }, { $0.removeLast(5) }, { $0 = [] }] {
            var bytes = sound.bytes
            damage(&bytes)
            queue = DispatcherQueue(number: 1, settled: Settled(through: 0))
            queue.load(Chunk(bytes: bytes, lastSequenceNumber: 2))
            var hasSkipped = false
            #expect(!queue.fill(10, from: bench.gate.events, &hasSkipped))
            #expect(queue.readPosition == 2)
            #expect(queue.entries.count < 2)
        }
    }

    @Test("Q8: a failed read is repeated after a wait, and its cause is shown")
    func readFault() throws {
        let bench = GateBench()
        bench.track(1)
        bench.store.readFault = .failed("disk on fire")
        try bench.restart()
        #expect(bench.store.readCount == 1)
        #expect(bench.barrier("BackoffBarrier:collect")?.reason == "event store: disk on fire")
        bench.track(1)
        #expect(bench.store.readCount == 1)
        bench.advance(by: .milliseconds(500))
        #expect(bench.store.readCount == 2)
        bench.store.readFault = nil
        bench.advance(by: .seconds(1))
        #expect(bench.sender.sent == [[1, 2]])
    }
}
