// swift-format-ignore-file: OnlyOneTrailingClosureArgument

import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Peeking at a queue")
struct PeekTests {
    /// Returns the sequence numbers of the next events.
    private func peek(_ bench: GateBench, _ id: String = "collect", limit: Int = 10) throws -> [Int] {
        try numbers(page(bench, id, limit: limit))
    }

    private func page(
        _ bench: GateBench, _ id: String = "collect", after: SequenceNumber = 0, limit: Int
    ) throws -> QueuePage {
        var result: Result<QueuePage, StoreFault>?
        #expect(bench.gate.peek(at: id, after: after, limit: limit) { result = $0 })
        bench.settle()
        return try #require(result).get()
    }

    private func numbers(_ page: QueuePage) -> [Int] {
        page.events.map { DocumentReader.read($0)?.get(key: "seq") ?? -1 }
    }

    private func hold(_ bench: GateBench) {
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "hold", scopes: [.all])
    }

    @Test("The next events are listed in order, and stay in the queue")
    func order() throws {
        let bench = GateBench()
        hold(bench)
        bench.track(30)
        #expect(try peek(bench) == Array(1...10))
        #expect(try peek(bench, limit: 100) == Array(1...30))
        #expect(bench.summary().pending == 30)
        #expect(!bench.gate.peek(at: "nowhere", limit: 1) { _ in })
    }

    @Test("Events in flight are not listed, and failed events are listed with their next attempt")
    func attempts() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(4)
        #expect(try peek(bench) == [3, 4])
        bench.sender.answer(.status(500))
        var events: [[UInt8]] = []
        #expect(bench.gate.peek(at: "collect", limit: 4) { events = (try? $0.get())?.events ?? [] })
        bench.settle()
        #expect(events.compactMap { DocumentReader.read($0)?.get(key: "attempt") } == [2, 2, 1, 1])
    }

    @Test("Only a dispatcher's own events are listed")
    func routes() throws {
        let bench = GateBench([DispatcherSettings(id: "a"), DispatcherSettings(id: "b")])
        hold(bench)
        for number in 1...9 { bench.track(1, EventDraft(dispatchers: [number % 3 == 0 ? "a" : "b"])) }
        #expect(try peek(bench, "a") == [3, 6, 9])
        #expect(try peek(bench, "b", limit: 3) == [1, 2, 4])
    }

    @Test("X2: a page whose request was cancelled is not read to its end")
    func unwanted() {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "b")])
        hold(bench)
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 10_000))"}"#, dispatchers: ["b"])
        for _ in 0..<10 {
            bench.track(1, EventDraft(dispatchers: ["collect"]))
            bench.track(100, large)
        }
        var (isAwaited, answers, reads) = (true, 0, bench.store.readCount)
        #expect(bench.gate.peek(at: "collect", limit: 20, isAwaited: { isAwaited }) { _ in answers += 1 })
        isAwaited = false
        bench.settle()
        #expect(answers == 0 && bench.store.readCount - reads == 1)
        (isAwaited, reads) = (true, bench.store.readCount)
        #expect(bench.gate.peek(at: "collect", limit: 20, isAwaited: { isAwaited }) { _ in answers += 1 })
        bench.settle()
        #expect(answers == 1 && bench.store.readCount - reads > 1)
    }

    @Test("Q6: stored events are read in bounded pages")
    func fromStore() throws {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "b")])
        #expect(try peek(bench).isEmpty)
        hold(bench)
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 10_000))"}"#, dispatchers: ["b"])
        for _ in 0..<10 {
            bench.track(1, EventDraft(dispatchers: ["collect"]))
            bench.track(100, large)
        }
        let reads = bench.store.readCount
        #expect(try peek(bench, limit: 20) == (0..<10).map { 1 + 101 * $0 })
        #expect(bench.store.readCount > reads)
        #expect(try 50...60 ~= peek(bench, "b", limit: 1_000).count)
        bench.store.readFault = .failed("no")
        #expect(throws: StoreFault.self) { try peek(bench, limit: 20) }
    }

    @Test("X2: a page is limited in size, and the next one continues after it")
    func pages() throws {
        let bench = GateBench([DispatcherSettings(id: "collect"), DispatcherSettings(id: "b")])
        hold(bench)
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 100_000))"}"#)
        for _ in 0..<13 { bench.track(1, large) }
        var page = try page(bench, limit: 1_000)
        #expect(numbers(page) == Array(1...5))
        #expect(page.events.reduce(0) { $0 + $1.count } < 512 << 10)
        page = try self.page(bench, after: try #require(page.next), limit: 1_000)
        #expect(numbers(page) == Array(6...10))
        page = try self.page(bench, after: try #require(page.next), limit: 2)
        #expect(numbers(page) == [11, 12])
        page = try self.page(bench, after: try #require(page.next), limit: 2)
        #expect(numbers(page) == [13])
        #expect(page.next == nil)
        #expect(try self.page(bench, after: 13, limit: 2) == QueuePage())
        #expect(try self.page(bench, after: .max, limit: 2) == QueuePage())
    }

    @Test("X2: an event larger than a page is listed alone")
    func largerThanPage() throws {
        let bench = GateBench()
        hold(bench)
        let huge = EventDraft(data: #"{"x":"\#(String(repeating: "x", count: 1 << 20))"}"#)
        bench.track(1)
        bench.track(2, huge)
        bench.track(1)
        var (shown, after): ([[Int]], SequenceNumber?) = ([], 0)
        while let from = after {
            let page = try page(bench, after: from, limit: 10)
            shown.append(numbers(page))
            after = page.next
        }
        #expect(shown == [[1], [2], [3], [4]])
    }

    @Test("Pages continue after the buffered events, across events of other dispatchers")
    func pagesOverOthers() throws {
        let bench = GateBench(["a", "b"].map(DispatcherSettings.init(id:)))
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "hold", scopes: [.dispatcher(id: "a")])
        bench["b"].reply = { _ in .delivered }
        for number in 1...40 { bench.track(1, EventDraft(dispatchers: [number % 4 == 0 ? "a" : "b"])) }
        let first = try page(bench, "a", limit: 4)
        #expect(numbers(first) == [4, 8, 12, 16])
        #expect(numbers(try page(bench, "a", after: try #require(first.next), limit: 100)) == [20, 24, 28, 32, 36, 40])
    }
}
