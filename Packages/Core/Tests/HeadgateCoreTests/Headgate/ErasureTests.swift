import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Erasures, over a store in memory.
@Suite struct ErasureTests {
    private static let retaining: StoreLimits = {
        var limits = StoreLimits()
        limits.retain = RetentionLimits(maxBytes: 1 << 20)
        return limits
    }()

    private static let rule = Rule.just(.equals(ignoreCase: false, variable: "data.user", target: "ada"))

    private func track(_ bench: GateBench, _ users: String..., dispatchers: [String]? = nil) {
        for user in users {
            bench.track(1, EventDraft(data: #"{"user":"\#(user)"}"#, dispatchers: dispatchers))
        }
    }

    @discardableResult
    private func erase(
        _ bench: GateBench, isDryRun: Bool = false
    ) -> Result<ErasureAnswer, ErasureRefusal>? {
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(ErasureTests.rule, isDryRun: isDryRun) { result = $0 }
        bench.settle()
        return result
    }

    private func paused(_ bench: GateBench) {
        #expect(bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in })
    }

    @Test("E1: pending events are gone, and the others are sent in order")
    func pending() {
        let bench = GateBench(reply: { _ in .delivered })
        paused(bench)
        track(bench, "ada", "bob", "ada", "eve", "bob", "ada")
        #expect(erase(bench) == .success(ErasureAnswer(events: 3, deadLetters: 0)))
        #expect(bench.summary().pending == 3 && bench.counters[.erased] == 3)
        #expect(bench.gate.resume("collect") { _ in })
        bench.settle()
        #expect(bench.sender.delivered == [2, 4, 5])
        #expect(bench.gate.stored == .zero && bench.counters[.quarantined] == 0 && bench.counters[.delivered] == 3)
    }

    @Test("E1: a dry run counts, and changes nothing")
    func dryRun() {
        let bench = GateBench(reply: { _ in .delivered })
        paused(bench)
        track(bench, "ada", "bob")
        #expect(erase(bench, isDryRun: true) == .success(ErasureAnswer(events: 1, deadLetters: 0)))
        #expect(bench.summary().pending == 2 && bench.counters[.erased] == 0)
    }

    @Test("E1: batches in flight are settled first, and delivered events are not erased")
    func inFlight() {
        let bench = GateBench()
        track(bench, "ada")
        track(bench, "ada", "bob")
        #expect(bench.sender.sent == [[1]])
        #expect(erase(bench) == nil)
        #expect(bench.sender.sent == [[1]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [3]])
        #expect(bench.counters[.delivered] == 1)
    }

    @Test("E1: dead letters are erased, also that of an event which was in flight")
    func deadLetters() {
        let bench = GateBench()
        track(bench, "ada", "bob")
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(erase(bench) == .success(ErasureAnswer(events: 0, deadLetters: 1)))
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [2])
        track(bench, "ada")
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(ErasureTests.rule, isDryRun: false) { result = $0 }
        bench.settle()
        #expect(result == nil)
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(result == .success(ErasureAnswer(events: 0, deadLetters: 1)))
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [2] && bench.counters[.erased] == 2)
    }

    @Test("E1: retained events are erased: a rewind does not send them")
    func retained() {
        let bench = GateBench(limits: ErasureTests.retaining, reply: { _ in .delivered })
        track(bench, "ada", "bob", "ada")
        #expect(erase(bench) == .success(ErasureAnswer(events: 2, deadLetters: 0)))
        #expect(bench.counters[.erased] == 2)
        #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { _ in })
        bench.settle()
        #expect(bench.sender.delivered == [1, 2, 3, 2])
        #expect(bench.summary().pending == 0 && bench.counters[.quarantined] == 0)
    }

    @Test("E1: events of a large backlog that was never read, and of a removed dispatcher, are gone")
    func unread() throws {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "old")])
        for _ in 1...100 { track(bench, "ada", "bob") }
        bench.dispatchers.removeLast()
        try bench.restart()
        #expect(bench.sender.sent.count == 1)
        bench.sender.reply = { _ in .delivered }
        #expect(erase(bench) == nil)
        bench.sender.answer()
        bench.settle()
        #expect(bench.summary().pending == 0 && bench.summary().inFlight == 0)
        #expect(bench.gate.dispatchers.orphanSummaries.map(\.events) == [100])
        #expect(bench.counters[.quarantined] == 0)
        #expect(bench.sender.delivered.suffix(80).allSatisfy { $0 % 2 == 0 })
    }

    @Test("E2: erasures run one after the other; a failing store refuses, and the dispatcher continues")
    func several() {
        let bench = GateBench(reply: { _ in .delivered })
        paused(bench)
        track(bench, "ada", "bob")
        var results: [Result<ErasureAnswer, ErasureRefusal>] = []
        for _ in 1...2 { bench.gate.erase(ErasureTests.rule, isDryRun: false) { results.append($0) } }
        bench.settle()
        #expect(results.map { try? $0.get().events } == [1, 0])
        track(bench, "ada")
        bench.store.memory.fault = .noRoom("full")
        #expect(erase(bench) == .failure(.store))
        bench.store.memory.fault = nil
        #expect(bench.gate.resume("collect") { _ in })
        bench.advance(by: .seconds(2))
        #expect(bench.sender.delivered == [2, 3])
    }

    @Test("E1: afterwards a trace knows neither name nor content of an erased event")
    func trace() throws {
        let bench = GateBench()
        paused(bench)
        bench.track(1, EventDraft("secret", id: "one", data: #"{"user":"ada"}"#))
        erase(bench)
        var traced: [TracedEvent] = []
        bench.gate.trace("one", in: nil) { traced = (try? $0.get()) ?? [] }
        bench.settle()
        #expect(traced.map(\.name) == [nil] && traced.flatMap(\.dispatchers).map(\.state) == [.erased])
    }
}
