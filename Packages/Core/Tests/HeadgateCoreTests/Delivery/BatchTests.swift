import Foundation
import HeadgateCoreTesting
import Testing

@testable import HeadgateCore

@Suite("Batches")
struct BatchTests {
    /// Returns the size of an event in a batch, so that a test can set limits to the byte.
    private func eventSize(_ draft: EventDraft) throws -> Int {
        let bench = GateBench()
        bench.track(1, draft)
        return try #require(bench.sender.batches.first?.events.first).range.count
    }

    @Test("D1: a batch has at most dispatch_limit events, 25 by default")
    func dispatchLimit() {
        let bench = GateBench()
        bench.track(60)
        #expect(bench.sender.sent == [Array(1...25)])
        let small = GateBench { $0.dispatchLimit = 7 }
        small.track(60)
        #expect(small.sender.sent == [Array(1...7)])
    }

    static let formats: [BatchFormat] = [.jsonArray, .ndjson, .envelope(schema: "shop \"v1\"")]

    @Test("D1: byte_limit is the exact serialised size, including everything around the events", arguments: formats)
    func byteLimit(format: BatchFormat) throws {
        let draft = EventDraft(data: #"{"a":"ä"}"#)
        let size = try eventSize(draft)
        let exact = format.prefix.count + 3 * size + 2 * format.separator.count + format.suffix.count
        for (limit, count) in [(exact, 3), (exact - 1, 2)] {
            var settings = DispatcherSettings(id: "collect")
            settings.byteLimit = limit
            let bench = GateBench([settings], format: format)
            bench.track(5, draft)
            let batch = try #require(bench.sender.batches.first)
            #expect(batch.events.count == count)
            #expect(batch.body.count <= limit)
        }
    }

    @Test("D1: the body has the destination's format, with the range of each event", arguments: formats)
    func body(format: BatchFormat) throws {
        let bench = GateBench([DispatcherSettings(id: "collect")], format: format)
        bench.track(3)
        let batch = try #require(bench.sender.batches.first)
        let pieces = batch.events.map { Array(batch.body[$0.range]) }
        #expect(batch.body == format.prefix + Array(pieces.joined(separator: format.separator)) + format.suffix)
        #expect(batch.events.map(\.id) == [#""made-1""#, #""made-2""#, #""made-3""#])
        for piece in pieces { #expect(try JSONSerialization.jsonObject(with: Data(piece)) is [String: Any]) }
    }

    @Test("O1: the bytes in flight are the sum over all unanswered batches")
    func bytesInFlight() {
        var settings = DispatcherSettings(id: "collect")
        (settings.inFlight, settings.dispatchLimit) = (2, 3)
        let bench = GateBench([settings])
        bench.track(5)
        for batches in [2, 1, 0] {
            let outstanding = bench.sender.outstanding
            #expect(outstanding.count == batches)
            #expect(bench.summary().inFlightBytes == outstanding.reduce(0) { $0 + $1.body.count })
            if batches > 0 { bench.sender.answer() }
        }
    }

    @Test("D1: a destination that accepts one event at a time gets batches of one")
    func oneAtATime() {
        let bench = GateBench([DispatcherSettings(id: "collect")], format: .single, reply: { _ in .delivered })
        bench.track(3)
        #expect(bench.sender.sent == [[1], [2], [3]])
    }

    @Test("K3, Q7: a batch with outcomes by id never has the same id twice")
    func distinctIds() {
        let bench = GateBench(
            [DispatcherSettings(id: "collect")], format: .distinctJSONArray, reply: { _ in .delivered })
        let ids = [("a/b", "n1"), ("c", "n1"), ("a/b", "n2"), ("c", "n2"), ("d", "n1"), ("e", "n1"), ("d", "n2")]
        for (id, namespace) in ids { bench.track(EventDraft(id: id, namespace: namespace)) }
        bench.settle()
        #expect(bench.sender.sent == [[1, 2], [3, 4, 5, 6], [7]])
        let others = GateBench()
        for (id, namespace) in ids { others.track(EventDraft(id: id, namespace: namespace)) }
        others.settle()
        #expect(others.sender.sent == [[1, 2, 3, 4, 5, 6, 7]])
    }

    @Test("K3: ids that look alike but differ in bytes may be in one batch")
    func lookalikeIds() {
        let bench = GateBench(
            [DispatcherSettings(id: "collect")], format: .distinctJSONArray, reply: { _ in .delivered })
        for id in ["caf\u{E9}", "cafe\u{301}"] { bench.track(EventDraft(id: id)) }
        bench.settle()
        #expect(bench.sender.sent == [[1, 2]])
    }

    @Test("D2: an event over byte_limit is sent alone, in order, and is not retried after an answer")
    func oversize() throws {
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 2000))"}"#)
        let bench = GateBench { $0.byteLimit = 1000 }
        for draft in [EventDraft(), large, EventDraft()] { bench.track(draft) }
        bench.settle()
        #expect(bench.sender.sent == [[1]])
        bench.sender.answer()
        bench.settle()
        #expect(bench.sender.sent == [[1], [2]])
        bench.sender.answer(.status(503))
        bench.settle()
        #expect(bench.sender.sent == [[1], [2], [3]])
        #expect(bench.store.memory.deadLetters.map(\.reason) == [.oversize])
        #expect(bench.counters[.dead] == 1)
    }

    @Test("D2: without an answer an oversize event is retried like any other, without charge")
    func oversizeInOutage() {
        let large = EventDraft(data: #"{"x":"\#(String(repeating: "y", count: 2000))"}"#)
        let bench = GateBench { $0.byteLimit = 1000 }
        for draft in [large, EventDraft()] { bench.track(draft) }
        bench.settle()
        for _ in 0..<20 {
            bench.sender.answer(.noAnswer(cause: "connection refused"))
            bench.advance(by: .seconds(300))
        }
        #expect(bench.sender.sent == Array(repeating: [1], count: 21) && bench.counters[.dead] == 0)
        #expect(bench.sender.batches.allSatisfy { $0.attempt == 1 })
        for _ in 1...2 {
            bench.sender.answer()
            bench.settle()
        }
        #expect(bench.sender.delivered == [1, 2])
    }

    @Test(
        "D2: an oversize event is dead-lettered after any answer except success",
        arguments: [SendResult.status(503), .status(500), .status(400), .status(413), .delivered])
    func oversizeOutcome(result: SendResult) {
        let bench = GateBench { $0.byteLimit = 10 }
        bench.track(1)
        bench.sender.answer(result)
        bench.advance(by: .seconds(1000))
        #expect(bench.sender.sent == [[1]])
        #expect(bench.counters[.delivered] == (result == .delivered ? 1 : 0))
        #expect(bench.store.memory.deadLetters.map(\.reason) == (result == .delivered ? [] : [.oversize]))
    }

    @Test("K1: the idempotency key is equal for the same events, and differs for other events")
    func idempotencyKey() {
        let bench = GateBench { $0.dispatchLimit = 2 }
        bench.track(3)
        bench.sender.answer(.status(503))
        bench.advance(by: .milliseconds(500))
        bench.sender.answer()
        bench.settle()
        let keys = bench.sender.batches.map(\.idempotencyKey)
        #expect(keys[0] == keys[1])
        #expect(keys[1] != keys[2])
        #expect(bench.sender.batches.map(\.number) == [1, 2, 3])
    }

    @Test("K1: events with equal ids in other namespaces, or with others in between, have a different key")
    func otherEvents() {
        func key(_ events: (id: String, number: SequenceNumber)...) -> String {
            Batch(
                number: 1, body: [],
                events: events.map { Batch.Event(id: $0.id, sequenceNumber: $0.number, range: 0..<0) }
            ).idempotencyKey
        }
        #expect(key(("\"a\"", 1)) == key(("\"a\"", 1)))
        #expect(key(("\"a\"", 1)) != key(("\"a\"", 2)))
        #expect(key(("\"a\"", 1), ("\"b\"", 2), ("\"d\"", 4)) != key(("\"a\"", 1), ("\"c\"", 3), ("\"d\"", 4)))
        #expect(key(("\"a\"", 1), ("\"b\"", 2)) != key(("\"a\"", 1)))
        #expect(key(("\"x\"", 1)) == key(("\"y\"", 1)), "the key does not depend on a client's id")
        #expect(key() == "")
    }

    /// Returns the idempotency key of each batch sent and the deduplication key of its first event.
    private func keys(_ bench: GateBench, _ dispatcher: String) -> [String] {
        bench[dispatcher].batches.flatMap { [$0.idempotencyKey, $0.deduplicationKey(of: $0.events[0])] }
    }

    @Test("K8: the keys of an event differ between dispatchers and stores, and are valid in a header")
    func otherSenders() {
        var all: [String] = []
        for _ in 0..<2 {
            let bench = GateBench([DispatcherSettings(id: "one"), DispatcherSettings(id: "two")])
            bench.track(1)
            all += keys(bench, "one") + keys(bench, "two")
        }
        #expect(all.count == 8 && Set(all).count == 8)
        let isPlain = { (byte: UInt8) in "0123456789abcdef-".utf8.contains(byte) }
        #expect(all.allSatisfy { $0.utf8.allSatisfy(isPlain) && $0.utf8.count < 100 })
    }

    @Test("K8: a key is stable across a restart, and differs for a requeued event")
    func restarted() throws {
        let bench = GateBench()
        bench.track(1)
        let before = keys(bench, "collect")
        try bench.restart()
        #expect(keys(bench, "collect") == before)
        bench.sender.answer(.status(400))
        bench.settle()
        #expect(bench.gate.deadLetters.requeue { _ in })
        bench.settle()
        let again = keys(bench, "collect").dropFirst(2)
        #expect(again.count == 2 && Set(again).isDisjoint(with: before))
    }
}
