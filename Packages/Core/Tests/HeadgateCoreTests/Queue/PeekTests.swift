import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Peeking at a queue")
struct PeekTests {
    /// The numbers of the next events.
    private func peek(_ bench: GateBench, _ id: String = "collect", limit: Int = 10) throws -> [Int] {
        var result: Result<[[UInt8]], StoreFault>?
        #expect(bench.gate.peek(at: id, limit: limit) { result = $0 })
        bench.settle()
        return try #require(result).get().map { DocumentReader.read($0)?.get(key: "seq") ?? -1 }
    }

    private func hold(_ bench: GateBench) {
        bench.gate.registerScopedBarrier(SwitchBarrier(.closed), id: "hold", scopes: [.all])
    }

    @Test("The next events come in order, and stay where they are")
    func order() throws {
        let bench = GateBench()
        hold(bench)
        bench.track(30)
        #expect(try peek(bench) == Array(1...10))
        #expect(try peek(bench, limit: 100) == Array(1...30))
        #expect(bench.summary().pending == 30)
        #expect(!bench.gate.peek(at: "nowhere", limit: 1) { _ in })
    }

    @Test("What is on its way is not shown, what failed is shown with its next attempt")
    func attempts() throws {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(4)
        #expect(try peek(bench) == [3, 4])
        bench.sender.answer(.status(503))
        var events: [[UInt8]] = []
        #expect(bench.gate.peek(at: "collect", limit: 4) { events = (try? $0.get()) ?? [] })
        bench.settle()
        #expect(events.compactMap { DocumentReader.read($0)?.get(key: "attempt") } == [2, 2, 1, 1])
    }

    @Test("Only a dispatcher's own events are shown")
    func routes() throws {
        let bench = GateBench([DispatcherSettings(id: "a"), DispatcherSettings(id: "b")])
        hold(bench)
        for number in 1...9 { bench.track(1, EventDraft(dispatchers: [number % 3 == 0 ? "a" : "b"])) }
        #expect(try peek(bench, "a") == [3, 6, 9])
        #expect(try peek(bench, "b", limit: 3) == [1, 2, 4])
    }

    @Test("Q6: what lies in the store is read from there, and no more is shown than is good to hold")
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
}
