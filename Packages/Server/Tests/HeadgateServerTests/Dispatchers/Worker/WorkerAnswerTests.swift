import HeadgateCore
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Tests the reading of a worker's answer, which gives each event of a batch an outcome.
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
        "K3: an outcome applies to the event with exactly its id, in any JSON spelling",
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

    @Test("K3: an answer that names an id outside of the batch is malformed, and the whole batch is sent again")
    func unknown() throws {
        let cause = "malformed answer from a worker: outcomes: no event \u{FFFD} in the batch"
        #expect(
            try result([#""\ud800""#], #"{"\ufffd": "delivered"}"#) == .each([.retry(cause: cause, charged: true)]))
    }
}
