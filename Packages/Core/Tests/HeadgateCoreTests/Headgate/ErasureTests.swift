import Foundation
import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of erasures with the store in memory.
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

    @Test("E1: an erasure removes matching pending events, and the others are sent in order")
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

    @Test("E1: a dry run counts the matching events, and changes nothing")
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

    @Test("E2: while an erasure waits for a slow destination, the other dispatchers continue")
    func slowDestination() {
        let bench = GateBench([DispatcherSettings(id: "a"), DispatcherSettings(id: "b")])
        bench["a"].reply = { _ in .delivered }
        _ = bench.gate.pause("a", reason: nil, isFlushable: false) { _ in }
        track(bench, "ada")
        track(bench, "ada", "bob")
        bench.advance(by: .seconds(2))
        #expect(erase(bench) == nil)
        _ = bench.gate.resume("a") { _ in }
        bench.settle()
        #expect(bench["a"].delivered == [1, 2, 3] && bench["b"].sent == [[1]])
        bench["b"].answer()
        bench.settle()
        #expect(bench["b"].sent == [[1], [3]] && bench.counters[.erased] == 1)
    }

    @Test("E1: matching dead letters are erased, including that of an event in flight")
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

    @Test("E1: a dead letter that the store could not write yet is erased too")
    func unwrittenDeadLetter() {
        let bench = GateBench(reply: { _ in .status(400) })
        bench.store.writeFault = .failed("the disk")
        track(bench, "ada", "bob")
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(ErasureTests.rule, isDryRun: false) { result = $0 }
        bench.advance(by: .seconds(5))
        #expect(result == .failure(.store) && bench.store.memory.deadLetters.isEmpty)
        bench.store.writeFault = nil
        bench.advance(by: .seconds(2))
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [1, 2])
        #expect(erase(bench) == .success(ErasureAnswer(events: 0, deadLetters: 1)))
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [2])
    }

    @Test("E1: retained events are erased, and a rewind does not send them")
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

    @Test("E1: an event that a rewind makes pending again during an erasure is erased")
    func rewoundMeanwhile() {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "slow")])
        track(bench, "bob")
        bench["collect"].answer()
        track(bench, "ada", dispatchers: ["collect"])
        bench["collect"].answer()
        bench.settle()
        // The erasure has scanned the events, and waits to read the dead letters.
        bench.store.holdsReads = true
        #expect(erase(bench) == nil)
        #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { _ in })
        bench.settle()
        bench.store.holdsReads = false
        bench.settle()
        while !bench["collect"].outstanding.isEmpty {
            bench["collect"].answer()
            bench.settle()
        }
        #expect(bench["collect"].delivered == [1, 2, 1])
    }

    @Test("E1: a dead letter of an event that is sent again after a rewind during an erasure is erased")
    func refusedMeanwhile() {
        let bench = GateBench(limits: ErasureTests.retaining)
        track(bench, "ada")
        bench.sender.answer()
        bench.settle()
        track(bench, "bob")
        // The erasure has read the dead letters when a rewind waits for a batch in flight.
        bench.store.holdsReads = true
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(ErasureTests.rule, isDryRun: false) { result = $0 }
        bench.settle()
        #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { _ in })
        bench.settle()
        bench.store.holdsReads = false
        bench.settle()
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [1, 2]])
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [1, 2])
        bench.advance(by: .seconds(2))
        #expect(result == .success(ErasureAnswer(events: 1, deadLetters: 1)))
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [2])
    }

    @Test("E1: an event that the store removed before a rewind is not subtracted from the pending events")
    func goneMeanwhile() {
        let dispatchers = [DispatcherSettings(id: "collect"), DispatcherSettings(id: "slow")]
        let bench = GateBench(dispatchers, limits: ErasureTests.retaining)
        // The event of `ada` is too far back to be in the dispatcher's buffer after a rewind.
        for _ in 1...500 { track(bench, "bob", dispatchers: ["collect"]) }
        track(bench, "ada", dispatchers: ["collect"])
        drain(bench)
        paused(bench)
        track(bench, "eve", dispatchers: ["collect"])
        track(bench, "eve", dispatchers: ["slow"])
        // The erasure has scanned the events, and waits for the rewind of a dispatcher with a batch in flight.
        #expect(bench.gate.rewind("slow", to: .sequenceNumber(503)) { _ in })
        #expect(erase(bench) == nil)
        // The store removes the event, which no dispatcher needs, before another rewind counts the events.
        bench.store.memory.erase([501], []) { _ in }
        #expect(bench.gate.rewind("collect", to: .sequenceNumber(1)) { _ in })
        bench.settle()
        bench["slow"].answer()
        bench.advance(by: .seconds(2))
        #expect(bench.gate.resume("collect") { _ in })
        bench.settle()
        drain(bench)
        #expect(bench.sender.delivered == Array(1...501) + Array(1...500) + [502])
    }

    /// Answers all batches of `collect`, one after the other.
    private func drain(_ bench: GateBench) {
        while !bench.sender.outstanding.isEmpty {
            bench.sender.answer()
            bench.settle()
        }
    }

    @Test("E1: events of a large backlog that was never read, and of a removed dispatcher, are erased")
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

    @Test("E2: erasures run one after the other; if the store fails, one is refused, and the dispatcher continues")
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

    @Test("E1: after an erasure a trace shows neither name nor content of the event")
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

    // MARK: Several parts

    /// Returns a bench whose erasures have parts of two events.
    private func benchOfSmallParts() -> GateBench {
        let bench = GateBench(reply: { _ in .delivered }, environment: { $0.readObject = ReadText.object })
        bench.gate.erasures.part.events = 2
        return bench
    }

    /// Calls `work` once `count` events are erased.
    private func once(_ bench: GateBench, _ count: Int, _ work: @escaping () -> Void) -> any Disposable {
        var isOver = false
        return bench.gate.changes.subscribe { [unowned gate = bench.gate] _ in
            guard !isOver, gate.erasure?.done.events == count else { return }
            isOver = true
            work()
        }
    }

    @Test("E1: an erasure of several parts erases all of its events, and the others are sent in order")
    func parts() {
        let bench = benchOfSmallParts()
        paused(bench)
        for _ in 1...5 { track(bench, "ada", "bob", "ada") }
        var seen: [ErasureProgress] = []
        let watch = bench.gate.changes.subscribe { [gate = bench.gate] _ in
            if let now = gate.erasure { seen.append(now) }
        }
        #expect(erase(bench) == .success(ErasureAnswer(events: 10, deadLetters: 0)))
        watch.dispose()
        #expect(bench.summary().pending == 5 && bench.counters[.erased] == 10)
        #expect(seen.contains { $0.done.events == 4 && $0.scannedThrough == 6 && $0.last == 15 && !$0.isRemoving })
        #expect(seen.last?.isRemoving == true && bench.gate.erasure == nil)
        #expect(bench.gate.resume("collect") { _ in })
        bench.settle()
        #expect(bench.sender.delivered == [2, 5, 8, 11, 14])
    }

    @Test("E1: a dry run counts the events of all parts")
    func dryRunOfParts() {
        let bench = benchOfSmallParts()
        paused(bench)
        for _ in 1...5 { track(bench, "ada") }
        #expect(erase(bench, isDryRun: true) == .success(ErasureAnswer(events: 5, deadLetters: 0)))
        #expect(bench.summary().pending == 5)
    }

    @Test("E1: events that arrive between two parts are not erased")
    func betweenParts() {
        let bench = benchOfSmallParts()
        paused(bench)
        for _ in 1...3 { track(bench, "ada") }
        let watch = once(bench, 2) { bench.track(EventDraft(data: #"{"user":"ada"}"#)) }
        #expect(erase(bench) == .success(ErasureAnswer(events: 3, deadLetters: 0)))
        watch.dispose()
        #expect(bench.summary().pending == 1 && bench.counters[.erased] == 3)
    }

    @Test("E2: an erasure of several parts is finished after a kill between two parts, and its stored rule is deleted")
    func killed() throws {
        let bench = benchOfSmallParts()
        paused(bench)
        for _ in 1...5 { track(bench, "ada", "bob") }
        bench.gate.loadRules.replace(named: [], by: ["named": ErasureTests.rule])
        let other = Rule.just(.equals(ignoreCase: true, variable: #"data.a\.b"#, target: "c"))
        let rule = Rule.and([.not(.not(.reference("named"))), .or([other, ErasureTests.rule])])
        let watch = once(bench, 4) { bench.store.memory.fault = .noRoom("full") }
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(rule, reason: "art. 17", isDryRun: false) { result = $0 }
        bench.settle()
        watch.dispose()
        #expect(result == nil && bench.gate.erasure?.done.events == 4)
        bench.store.memory.fault = nil
        var finished: [FinishedErasure] = []
        var log: (any Disposable)?
        try bench.restart { bench in log = bench.gate.finishedErasures.subscribe { finished.append($0) } }
        log?.dispose()
        #expect(finished.map(\.reason) == ["art. 17"] && finished.map(\.answer.events) == [1])
        #expect(bench.summary().pending == 5 && bench.gate.erasure == nil)
        #expect(try bench.store.open().kept[KeptErasure.name] == nil)
    }

    @Test("E2: once a part is recorded, a failing store delays an erasure, but does not end it")
    func failing() {
        let bench = benchOfSmallParts()
        paused(bench)
        for _ in 1...5 { track(bench, "ada") }
        let watch = once(bench, 2) { bench.store.memory.fault = .noRoom("full") }
        var result: Result<ErasureAnswer, ErasureRefusal>?
        bench.gate.erase(ErasureTests.rule, isDryRun: false) { result = $0 }
        bench.settle()
        watch.dispose()
        #expect(result == nil)
        bench.store.memory.fault = nil
        bench.advance(by: .seconds(5))
        #expect(result == .success(ErasureAnswer(events: 5, deadLetters: 0)))
    }
}

/// Reads JSON objects for tests of the core, which has no reader of its own.
private enum ReadText {
    static func object(_ bytes: UnsafeRawBufferPointer) -> DataObject? {
        let value = try? JSONSerialization.jsonObject(with: Data(bytes))
        guard case .object(let object)? = value.map(item) else { return nil }
        return object
    }

    private static func item(_ value: Any) -> DataItem {
        switch value {
        case let text as String: .string(text)
        case let items as [Any]: .array(items.map(item))
        case let members as [String: Any]: .object(DataObject(members.map { ($0.key, item($0.value)) }))
        case let number as NSNumber where number.objCType.pointee == CChar(UInt8(ascii: "c")): .bool(number.boolValue)
        case let number as NSNumber: .number(DataNumber(number.intValue))
        default: .null
        }
    }
}
