import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

/// Batches that their sender gives to somebody else before they have come back.
@Suite("Batches that go out once more")
struct RecheckTests {
    private let mortal = EventDraft(timeToLive: .seconds(10))

    /// A batch on its way: the second of three events is to live for 10 s.
    private func bench(limits: StoreLimits = StoreLimits()) -> GateBench {
        let bench = GateBench(limits: limits) { _ in }
        for draft in [EventDraft(), mortal, EventDraft()] { bench.track(draft) }
        bench.settle()
        return bench
    }

    private func recheck(_ bench: GateBench) throws -> Batch? {
        bench.gate.recheck(try #require(bench.sender.outstanding.first), of: "collect")
    }

    @Test("Q4: a batch in which nothing is too old stays as it is")
    func fresh() throws {
        let bench = bench()
        bench.advance(by: .milliseconds(9_999))
        let batch = try #require(bench.sender.outstanding.first)
        let rest = try #require(try recheck(bench))
        #expect(rest.events.map(\.sequenceNumber) == [1, 2, 3])
        #expect(rest.body == batch.body)
        #expect(bench.counters[.expired] == 0)
    }

    @Test("Q4, D12: what has become too old on its way expires; outcomes are then told of the rest, in its order")
    func expired() throws {
        let bench = bench()
        bench.advance(by: .seconds(10))
        let rest = try #require(try recheck(bench))
        #expect(rest.events.map(\.sequenceNumber) == [1, 3])
        #expect(bench.counters[.expired] == 1)
        #expect(bench.summary().inFlight == 2)
        #expect(try recheck(bench)?.events.map(\.sequenceNumber) == [1, 3])
        #expect(bench.counters[.expired] == 1)
        bench.sender.answer(.each([.delivered, .dead(.refused, cause: "no")]))
        bench.settle()
        #expect(bench.counters[.delivered] == 1)
        #expect(bench.store.memory.deadLetters.map(\.sequenceNumber) == [3])
        #expect(bench.summary().pending == 0)
    }

    @Test("Q4: the store's own limit counts as well, and a batch of which nothing is left has not failed")
    func nothingLeft() throws {
        var limits = StoreLimits()
        limits.maxAge = .seconds(60)
        let bench = bench(limits: limits)
        bench.advance(by: .seconds(60))
        #expect(try recheck(bench) == nil)
        bench.sender.answer(.each([]))
        bench.settle()
        #expect(bench.counters[.expired] == 3)
        #expect(bench.summary().counters[.failed] == 0)
        #expect(bench.summary().retryAt == nil)
        bench.track(1)
        #expect(bench.sender.sent.last == [4])
    }

    @Test("S3: a dispatcher that is leaving lets go of what is too old, too; what is not on its way has nothing left")
    func leaving() throws {
        let bench = bench()
        let batch = try #require(bench.sender.outstanding.first)
        bench.gate.removeDispatcher("collect")
        bench.advance(by: .seconds(10))
        #expect(bench.gate.recheck(batch, of: "collect")?.events.map(\.sequenceNumber) == [1, 3])
        #expect(bench.gate.recheck(batch, of: "nobody") == nil)
        bench.sender.answer()
        #expect(bench.gate.recheck(batch, of: "collect") == nil)
    }

    @Test(
        "The rest of a batch is laid as the whole was",
        arguments: [BatchFormat.jsonArray, .ndjson, .envelope(schema: "s"), .separate], [[1], [2, 3], [1, 4], [2]])
    func layout(format: BatchFormat, gone: [SequenceNumber]) throws {
        let bench = GateBench([DispatcherSettings(id: "collect")], format: format)
        for _ in 1...4 { bench.track(EventDraft()) }
        bench.settle()
        let batch = try #require(bench.sender.batches.first)
        let rest = batch.without(SequenceSet(gone))
        let kept = batch.events.filter { !gone.contains($0.sequenceNumber) }
        let pieces = kept.map { Array(batch.body[$0.range]) }
        #expect(rest.events.map(\.id) == kept.map(\.id))
        #expect(rest.events.map { Array(rest.body[$0.range]) } == pieces)
        #expect(rest.body == format.prefix + Array(pieces.joined(separator: format.separator)) + format.suffix)
    }

    @Test("D2, K3: a batch that comes back goes again after a wait, oversize or not, and nothing is charged")
    func returned() throws {
        let bench = GateBench { $0.byteLimit = 10 }
        bench.track(1)
        bench.sender.answer(.returned(cause: "went away"))
        bench.settle()
        #expect(bench.summary().lastError == "went away")
        #expect(bench.summary().retryAt != nil)
        bench.advance(by: .milliseconds(500))
        #expect(bench.sender.sent == [[1], [1]])
        #expect(bench.sender.batches.map(\.attempt) == [1, 1])
        #expect(bench.counters[.dead] == 0)
    }
}
