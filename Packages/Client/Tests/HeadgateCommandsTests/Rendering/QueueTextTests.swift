import HeadgateClient
import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests the texts about queues and dead letters.
@Suite struct QueueTextTests {
    @Test("Pending events are shown in a table, their data cut")
    func events() throws {
        let words = QueueText(clock: Fixed.clock, style: Fixed.style)
        let event: DataObject = [
            "id": "a1", "seq": 12, "event": "order", "received_at": Fixed.ago(60), "key": "k", "attempt": 2,
            "data": ["text": .string(String(repeating: "x", count: 100))],
        ]
        #expect(
            words.list(try PeekedEvents(["events": [.object(event)], "next": 12]), of: "collect") == """
                SEQ  EVENT  ID  KEY  RECEIVED  ATTEMPT  DATA
                 12  order  a1  k    11:59:00        2  {"text":"\(String(repeating: "x", count: 50))…

                There are more: `headgate peek collect --after 12` shows them.

                """)
        #expect(words.list(try PeekedEvents(["events": [], "next": nil]), of: "collect") == "No events are pending.\n")
        #expect(throws: ClientError.self) { try PeekedEvents([:]) }
    }

    @Test("D10: dead letters are shown in a table, with reason and time")
    func deadLetters() throws {
        let words = DeadLetterText(clock: Fixed.clock, style: Fixed.style)
        let page = try DeadLetterPage([
            "dead_letters": [
                [
                    "letter": 3, "dispatcher": "collect", "reason": "refused_status", "status": 400,
                    "answer": "no\n such field", "attempts": 1, "died_at": Fixed.ago(5),
                    "event": ["event": "order", "id": "a1"],
                ],
                ["letter": 4, "dispatcher": "collect", "reason": "max_retry_age", "status": nil, "event": nil],
            ], "next": 4,
        ])
        #expect(
            words.list(page) == """
                LETTER  DISPATCHER  REASON          STATUS  ATTEMPTS  DEAD SINCE  EVENT    ID  LAST ANSWER
                     3  collect     refused_status     400         1  11:59:55    order    a1  no\\u{a} such field
                     4  collect     max_retry_age        –         0  –           damaged

                There are more: `headgate dead-letters --after 4` shows them.

                """)
        #expect(words.list(try DeadLetterPage(["dead_letters": []])) == "There are no dead letters.\n")
        #expect(throws: ClientError.self) { try DeadLetterPage([:]) }
    }
}
