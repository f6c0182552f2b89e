import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Requeuing dead letters")
struct RequeueTests {
    let bench: GateBench

    init() {
        bench = GateBench { $0.dispatchLimit = 1 }
    }

    /// Tracks `count` events and has each of them refused, so that all become dead letters.
    private func makeDeadLetters(_ count: Int, _ draft: EventDraft = EventDraft()) {
        bench.track(count, draft)
        for _ in 0..<count {
            bench.sender.answer(.status(400))
            bench.settle()
        }
    }

    private func requeue(_ deadLetters: Set<DeadLetterNumber>? = nil) -> Result<Int, RequeueFault>? {
        var result: Result<Int, RequeueFault>?
        #expect(bench.gate.deadLetters.requeue(deadLetters) { result = $0 })
        bench.settle()
        return result
    }

    private func deadLetters(limit: Int = 100, after: DeadLetterNumber = 0) -> StoredDeadLetterPage? {
        var page: StoredDeadLetterPage?
        #expect(bench.gate.deadLetters.read(after: after, limit: limit) { page = try? $0.get() })
        bench.settle()
        return page
    }

    @Test("D10: a requeued event is sent again with its id, a new sequence number and attempt 1")
    func again() throws {
        makeDeadLetters(1, EventDraft(id: "a", key: "k", data: #"{"n":1.50}"#))
        bench.advance(by: .seconds(60))
        #expect(requeue() == .success(1))
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        let bodies = bench.sender.batches.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies[1] == bodies[0].replacingSeq(1, by: 2))
        #expect(bodies[1].contains(#""id":"a","seq":2"#) && bodies[1].contains(#""attempt":1"#))
        #expect(deadLetters()?.deadLetters.isEmpty == true)
        #expect(bench.gate.stored == .zero)
        let counters = bench.counters
        #expect((counters[.dead], counters[.requeued], counters[.delivered], counters[.duplicates]) == (1, 1, 1, 0))
    }

    @Test("D10: a requeued event's number may have another length, and the following members stay intact")
    func moreDigits() {
        makeDeadLetters(1, EventDraft(id: "first", data: #"{"n":1}"#))
        bench.sender.reply = { _ in .delivered }
        bench.track(9)
        #expect(requeue() == .success(1))
        bench.track(1)
        #expect(bench.sender.delivered == Array(2...12))
        let body = bench.sender.batches.first { $0.events.first?.sequenceNumber == 11 }?.body ?? []
        #expect(String(decoding: body, as: UTF8.self).contains(#"{"id":"first","seq":11,"event":"order","time":"#))
        #expect(String(decoding: body, as: UTF8.self).hasSuffix(#""context":{},"data":{"n":1}}]"#))
    }

    @Test("Q7: a client's repeat of the id is a duplicate, but the requeued event is not")
    func duplicates() {
        makeDeadLetters(1, EventDraft(id: "a"))
        #expect(requeue() == .success(1))
        #expect(bench.track(EventDraft(id: "a")) == .duplicate(1))
    }

    @Test("D10: a purge covers the dead letters at its start, and later ones stay")
    func purgeThere() throws {
        makeDeadLetters(600)
        let event = try #require(deadLetters(limit: 1)?.deadLetters.first).deadLetter
        bench.store.beforePurge = { [memory = bench.store.memory] in memory.write([.deadLetter(event)]) { _ in } }
        var purged: Int?
        #expect(bench.gate.deadLetters.purge { purged = try? $0.get() })
        bench.settle()
        #expect(purged == 600)
        #expect(deadLetters()?.deadLetters.map(\.number) == [601, 602, 603])
    }

    @Test("D10: a requeued event goes only to its former dispatcher, even if the load rules have changed")
    func oneDispatcher() {
        let bench = GateBench([DispatcherSettings(id: "a"), DispatcherSettings(id: "b")])
        bench.track(1)
        bench["a"].answer(.status(400))
        bench["b"].answer()
        bench.settle()
        var settings = DispatcherSettings(id: "a")
        settings.loadRule = .or([])
        bench.gate.changeDispatcher(settings, kind: "recording", sender: nil, reachesNetwork: false)
        var count: Int?
        #expect(bench.gate.deadLetters.requeue(of: "a") { count = try? $0.get() })
        bench.settle()
        bench["a"].answer()
        bench.settle()
        #expect(count == 1)
        #expect(bench["a"].delivered == [2] && bench["b"].delivered == [1])
    }

    @Test("D10: a requeue selects one dispatcher or some numbers, and missing ones are not counted")
    func selection() {
        makeDeadLetters(4)
        #expect(requeue([2, 4, 99]) == .success(2))
        #expect(deadLetters()?.deadLetters.map(\.number) == [1, 3])
        #expect(!bench.gate.deadLetters.requeue(of: "nowhere") { _ in })
        #expect(!bench.gate.deadLetters.read(of: "nowhere", limit: 1) { _ in })
        #expect(!bench.gate.deadLetters.purge(of: "nowhere") { _ in })
    }

    @Test("D10, X2: pages are read one after the other, and pages of cancelled requests are not read")
    func unwanted() {
        let bench = GateBench()
        bench.track(3)
        bench.sender.answer(.status(400))
        bench.settle()
        var (isAwaited, answers): (Bool, [Int]) = (true, [])
        let reads = bench.store.deadLetterReadCount
        for number in 1...50 {
            let isAwaitedNow = { isAwaited || number % 25 == 0 }
            #expect(bench.gate.deadLetters.read(limit: 1, isAwaited: isAwaitedNow) { _ in answers.append(number) })
        }
        isAwaited = false
        bench.settle()
        #expect(answers == [25, 50] && bench.store.deadLetterReadCount - reads == 2)
    }

    @Test("D10: a dead letter requeued twice at once is sent once")
    func twiceAtOnce() {
        makeDeadLetters(3)
        var counts: [Int] = []
        for _ in 0..<2 { #expect(bench.gate.deadLetters.requeue { counts.append((try? $0.get()) ?? -1) }) }
        bench.settle()
        #expect(counts == [3, 0])
        #expect(bench.summary().pending + bench.summary().inFlight == 3)
    }

    @Test("D10: an event dead-lettered again during a requeue is a new dead letter, and is not requeued again")
    func dyingAgain() {
        bench.sender.reply = { _ in .status(400) }
        bench.track(600)
        #expect(requeue() == .success(600))
        #expect(bench.counters[.dead] == 1_200)
        #expect(bench.store.memory.deadLetters.count == 600)
    }

    @Test(
        "Q4: without room in the queue dead letters stay, even with drop_oldest",
        arguments: StoreLimits.Overflow.allCases)
    func full(_ overflow: StoreLimits.Overflow) {
        var limits = StoreLimits()
        limits.maxEvents = 3
        limits.overflow = overflow
        makeDeadLetters(2)
        bench.gate.setLimits(limits)
        bench.track(2)
        #expect(requeue() == .failure(.queueFull(requeued: 1)))
        #expect(deadLetters()?.deadLetters.map(\.number) == [2])
        #expect(bench.gate.stored.events == 3 && bench.counters[.evicted] == 0)
    }

    @Test("D10: if the store fails the dead letters stay, and nothing is sent")
    func storeFails() {
        makeDeadLetters(2)
        bench.store.memory.fault = .noRoom("full")
        #expect(requeue() == .failure(.store(.noRoom("full"), requeued: 0)))
        bench.store.memory.fault = nil
        #expect(deadLetters()?.deadLetters.count == 2)
        #expect(bench.sender.outstanding.isEmpty)
        #expect(requeue() == .success(2))
    }

    @Test("D10: time to live and maximum age restart, so that a requeued event does not expire at once")
    func ages() {
        var limits = StoreLimits()
        limits.maxAge = .seconds(3600)
        bench.gate.setLimits(limits)
        makeDeadLetters(1, EventDraft(timeToLive: .seconds(10)))
        bench.advance(by: .seconds(7200))
        #expect(bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in })
        #expect(requeue() == .success(1))
        bench.advance(by: .seconds(9))
        #expect(bench.summary().pending == 1 && bench.counters[.expired] == 0)
        bench.advance(by: .seconds(1))
        #expect(bench.summary().pending == 0 && bench.counters[.expired] == 1)
    }

    @Test("D10: requeued events and remaining dead letters survive a restart")
    func restart() throws {
        makeDeadLetters(2)
        #expect(requeue([1]) == .success(1))
        try bench.restart()
        #expect(bench.sender.sent == [[3]])
        #expect(deadLetters()?.deadLetters.map(\.number) == [2])
    }

    @Test("D10: a removed dispatcher's dead letters stay, and can be requeued when it is back")
    func removed() {
        makeDeadLetters(1)
        bench.gate.removeDispatcher("collect")
        bench.settle()
        #expect(!bench.gate.deadLetters.requeue(of: "collect") { _ in })
        #expect(requeue() == .success(0))
        #expect(deadLetters()?.deadLetters.count == 1)
        bench.add(bench.dispatchers[0])
        #expect(requeue() == .success(1))
        #expect(bench.sender.sent == [[2]])
    }

    @Test("D10: each page continues after the previous one")
    func pages() throws {
        makeDeadLetters(5)
        let first = try #require(deadLetters(limit: 2))
        #expect(first.deadLetters.map(\.number) == [1, 2] && first.next == 2)
        let second = try #require(deadLetters(limit: 3, after: 2))
        #expect(second.deadLetters.map(\.number) == [3, 4, 5] && second.next == nil)
    }

    @Test("D10: purged dead letters are removed, and the others stay")
    func purge() {
        makeDeadLetters(5)
        var count: Int?
        #expect(bench.gate.deadLetters.purge([2, 3, 77]) { count = try? $0.get() })
        bench.settle()
        #expect(count == 2)
        #expect(deadLetters()?.deadLetters.map(\.number) == [1, 4, 5])
    }

    @Test(
        "D10: the attempts of a dead letter include the last one",
        arguments: [
            (SendResult.status(400), DeadLetter.Reason.refusedStatus, 1), (.status(413), .tooLarge, 1),
        ])
    func attempts(_ result: SendResult, _ reason: DeadLetter.Reason, _ attempts: Int) {
        bench.track(1)
        bench.sender.answer(result)
        bench.settle()
        #expect(bench.store.memory.deadLetters.map(\.reason) == [reason])
        #expect(bench.store.memory.deadLetters.map(\.attempts) == [attempts])
    }

    @Test("D9: network errors are not counted as attempts of a dead letter, but its first failure is recorded")
    func networkErrors() throws {
        bench.track(1)
        let start = bench.scheduler.wall
        for _ in 0..<3 {
            bench.sender.answer(.noAnswer(cause: "unreachable"))
            bench.advance(by: .seconds(100))
        }
        bench.sender.answer(.status(400))
        bench.settle()
        let deadLetter = try #require(bench.store.memory.deadLetters.first)
        #expect(deadLetter.attempts == 1 && deadLetter.reason == .refusedStatus)
        #expect(deadLetter.firstFailedAt == start && deadLetter.diedAt == bench.scheduler.wall)
    }

    @Test("X2: a dead letter larger than a page is returned alone")
    func hugeDeadLetters() throws {
        makeDeadLetters(2, EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 600_000))"}"#))
        let page = try #require(deadLetters())
        #expect(page.deadLetters.count == 1 && page.next == 1)
        #expect(deadLetters(after: 1)?.deadLetters.count == 1)
    }

    @Test("D10, X2: a page is limited in size")
    func largePage() throws {
        makeDeadLetters(4, EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 200_000))"}"#))
        let page = try #require(deadLetters())
        #expect(page.deadLetters.count == 2 && page.next == 2)
        #expect(requeue() == .success(4))
    }
}

extension String {
    /// Returns the text with the sequence number `old` replaced by `new`.
    fileprivate func replacingSeq(_ old: Int, by new: Int) -> String {
        let parts = split(separator: "\"seq\":\(old),", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.joined(separator: "\"seq\":\(new),")
    }
}
