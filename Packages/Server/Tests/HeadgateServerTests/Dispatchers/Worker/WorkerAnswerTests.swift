import HeadgateCore
import HeadgateWire
import Testing

@testable import HeadgateServer

/// The outcomes that a worker's answer gives to the events of its batch.
@Suite("Workers' answers")
struct WorkerAnswerTests {
    /// Returns the result of a batch of events with these ids, which are JSON strings.
    private func result(_ ids: [String], _ outcomes: String) throws -> SendResult {
        var batch = Batch(of: ids, in: .jsonArray)
        batch.events = ids.enumerated().map {
            Batch.Event(id: $0.element, sequenceNumber: Int64($0.offset), range: 0..<0)
        }
        let scanner = JSONScanner()
        return try Array(#"{"outcomes":\#(outcomes)}"#.utf8).withUnsafeBytes {
            WorkerAnswer.result(of: .success(try scanner.scan($0)), for: batch)
        }
    }

    @Test(
        "K3: an outcome is for the event of its very id, however that is spelled",
        arguments: [
            (#""\ud800""#, #""\ufffd""#), (#""\ud800""#, #""\ud801""#), (#""\ud800""#, #""\udc00""#),
            ("\"caf\u{E9}\"", "\"cafe\u{301}\""), (#""a""#, #""\u0062""#),
        ])
    func exact(first: String, second: String) throws {
        let dead = EventOutcome.dead(.refused, cause: "refused by a worker")
        #expect(try result([first, second], #"{\#(second): "dead"}"#) == .each([.delivered, dead]))
        #expect(try result([first, second], #"{\#(first): "dead"}"#) == .each([dead, .delivered]))
        #expect(try result([second], #"{\#(second): "delivered"}"#) == .delivered)
    }

    @Test("K3: an answer that names an event of another id is malformed, and the whole batch goes again")
    func unknown() throws {
        let cause = "malformed answer from a worker: outcomes: no event \u{FFFD} in the batch"
        #expect(
            try result([#""\ud800""#], #"{"\ufffd": "delivered"}"#) == .each([.retry(cause: cause, charged: true)]))
    }
}
