import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Limits of dead letters")
struct FullDeadLettersTests {
    /// Creates a bench whose destinations refuse every event, with room for `count` dead letters.
    private func bench(
        _ count: Int, bytes: Int = 1 << 20, full: DeadLettersFull = .hold, dispatchers: [String] = ["collect"]
    ) -> GateBench {
        var limits = StoreLimits()
        limits.deadLetters = DeadLetterLimits(count: count, bytes: bytes)
        limits.deadLettersFull = full
        let settings = dispatchers.map { id in
            var settings = DispatcherSettings(id: id)
            settings.dispatchLimit = 2
            return settings
        }
        return GateBench(settings, limits: limits, reply: { _ in .status(401) })
    }

    private func isHeld(_ bench: GateBench, _ id: String = "collect") -> Bool {
        bench.summary(of: id).blockedBy.contains("DeadLettersBarrier:\(id)")
    }

    @Test("D10, P1: without room for its dead letter an event stays in the queue, and its dispatcher is blocked")
    func held() {
        let bench = bench(5)
        bench.track(20)
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [1, 2, 3, 4, 5])
        #expect(isHeld(bench) && bench.summary().pending == 15 && bench.gate.stored.events == 15)
        #expect(bench.counters[.dead] == 5 && bench.counters[.droppedLetters] == 0)
        let attempts = bench.sender.sent.count
        _ = bench.gate.flush(timeout: .seconds(5)) { _ in }
        bench.track(3)
        bench.advance(by: .seconds(3_600))
        #expect(bench.sender.sent.count == attempts, "a flush does not pass the DeadLettersBarrier")
        #expect(bench.barrier("DeadLettersBarrier:collect")?.reason != nil)
    }

    @Test("D10: requeuing, purging or a higher limit makes room, and the dispatcher continues")
    func opened() throws {
        let bench = bench(4)
        bench.track(10)
        #expect(isHeld(bench))
        #expect(bench.gate.deadLetters.purge([1, 2]) { _ in })
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [3, 4, 5, 6] && isHeld(bench))
        bench.sender.reply = { _ in .delivered }
        #expect(bench.gate.deadLetters.requeue([3]) { _ in })
        bench.settle()
        #expect(!isHeld(bench) && bench.gate.stored.events == 0 && bench.counters[.delivered] == 5)

        let other = self.bench(4)
        other.track(10)
        var limits = other.limits
        limits.deadLetters.count = 7
        other.gate.setLimits(limits)
        other.settle()
        #expect(other.store.memory.deadLetters.count == 7 && isHeld(other))
    }

    @Test("D10: other dispatchers are not affected until one of their events must be dead-lettered")
    func others() {
        let bench = bench(2, dispatchers: ["bad", "good"])
        bench["good"].reply = { _ in .delivered }
        bench.track(10)
        #expect(isHeld(bench, "bad") && !isHeld(bench, "good"))
        #expect(bench.summary(of: "good").counters[.sent] == 10)
    }

    @Test("D10: dead letters are also limited in bytes, except for a single larger one")
    func bytes() {
        let bench = bench(100, bytes: 10)
        bench.track(4)
        #expect(bench.store.memory.deadLetters.count == 1 && isHeld(bench))
    }

    @Test("D10: with drop_oldest the oldest dead letters are dropped and counted")
    func dropped() {
        let bench = bench(5, full: .dropOldest)
        bench.track(20)
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [16, 17, 18, 19, 20])
        #expect(!isHeld(bench) && bench.counters[.droppedLetters] == 15 && bench.gate.stored.events == 0)
    }

    @Test(
        "D10: unwritten dead letters count towards the limit, and none is dropped", arguments: DeadLettersFull.allCases)
    func unwritten(full: DeadLettersFull) {
        let bench = bench(5, full: full)
        bench.store.writeFault = .noRoom("full")
        bench.track(20)
        bench.advance(by: .seconds(60))
        #expect(isHeld(bench) && bench.summary().pending == 15)
        bench.store.writeFault = nil
        bench.advance(by: .seconds(2))
        let ends = bench.store.memory.deadLetters.count + bench.counters[.droppedLetters]
        #expect(ends + bench.summary().pending == 20)
        #expect(bench.store.memory.deadLetters.count == 5 && isHeld(bench) == (full == .hold))
    }

    @Test("Q3: after a restart the stored dead letters count, and the dispatcher is blocked again")
    func overRestart() throws {
        let bench = bench(5)
        bench.track(20)
        try bench.restart()
        #expect(isHeld(bench) && bench.store.memory.deadLetters.count == 5 && bench.summary().pending == 15)
    }

    @Test("D10: status warns at 80 % of the limit")
    func warning() {
        let bench = bench(5)
        bench.track(3)
        #expect(bench.gate.warnings.isEmpty)
        bench.track(1)
        #expect(bench.gate.warnings.count == 1)
        #expect(bench.gate.warnings.first?.description.contains("near their limit: 4 of 5") == true)
    }
}
