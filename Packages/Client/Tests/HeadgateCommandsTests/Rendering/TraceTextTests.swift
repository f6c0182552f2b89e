import HeadgateClient
import HeadgateData
import Testing

@testable import HeadgateCommands

@Suite struct TraceTextTests {
    private let words = TraceText(
        barriers: [ListedBarrier(Fixed.manual)], dispatchers: [ListedDispatcher(Fixed.collect)], clock: Fixed.clock,
        style: Fixed.style)

    /// Returns the text of an event that was received 12 s before noon, with this state for `collect`.
    private func text(_ trace: DataObject, dispatcher: String = "collect") -> String {
        words.text([
            ListedTrace([
                "id": "e1", "namespace": "uid:7", "seq": 4_711, "event": "signup", "received_at": Fixed.ago(12),
                "dispatchers": .object([dispatcher: .object(trace)]),
            ])
        ])
    }

    @Test(
        "O2: each state is a sentence with time, attempts, cause and next step",
        arguments: [
            (["state": "delivered", "at": Fixed.ago(11), "attempts": 1], "delivered 11 s ago."),
            (
                ["state": "delivered", "at": Fixed.ago(11), "attempts": 3, "last_error": "HTTP 503"],
                "delivered 11 s ago after 3 attempts. Last error: HTTP 503."
            ),
            (["state": "in_flight", "at": Fixed.ago(2), "attempts": 1], "in flight: sent 2 s ago."),
            (["state": "in_flight", "at": Fixed.ago(2), "attempts": 2], "in flight: sent 2 s ago, attempt 2."),
            (
                ["state": "dead", "at": Fixed.ago(1), "attempts": 1, "last_error": "HTTP 400", "letter": 7],
                "dead-lettered 1 s ago after 1 attempt. Last error: HTTP 400. It is dead letter 7: "
                    + "`headgate dead-letters requeue 7` requeues it."
            ),
            (
                ["state": "dead", "at": Fixed.ago(1)],
                "dead-lettered 1 s ago. Its dead letter no longer exists: it was requeued, purged or expired."
            ),
            (["state": "expired", "at": Fixed.ago(1), "attempts": 0], "expired 1 s ago."),
            (
                ["state": "evicted", "at": Fixed.ago(1), "attempts": 0],
                "evicted 1 s ago to make room for newer events."
            ),
            (["state": "purged", "at": Fixed.ago(1), "attempts": 0], "purged 1 s ago by an operator."),
            (["state": "transformed_away", "at": Fixed.ago(1)], "dropped 1 s ago by a transformation."),
            (["state": "later"], "later."),
            (["state": "pending", "ahead": 0, "attempts": 0], "pending as the next event, not blocked."),
            (
                ["state": "pending", "ahead": 1, "attempts": 2, "last_error": "HTTP 503", "blocked_by": ["x"]],
                "pending behind 1 other, blocked by x; sent 2 times before. Last error: HTTP 503."
            ),
            (
                ["state": "pending", "ahead": 3, "attempts": 0, "blocked_by": ["ManualBarrier:collect"]],
                "pending behind 3 others, blocked by ManualBarrier:collect since 11:58:00 (2 min): paused: maintenance; "
                    + "`headgate resume collect` opens it; a flush does not pass it."
            ),
        ] as [(DataObject, String)])
    func sentences(_ trace: DataObject, _ sentence: String) {
        #expect(
            text(trace)
                == "e1 (signup, namespace uid:7) was received 12 s ago, sequence number 4711.\ncollect: \(sentence)\n")
    }

    @Test("O2: a removed dispatcher's event waits for it; an unknown id says so")
    func removed() {
        let trace: DataObject = ["state": "pending", "ahead": 0, "attempts": 0]
        #expect(
            text(trace, dispatcher: "old").hasSuffix(
                "old: pending as the next event: this dispatcher is not configured.\n"))
        let text = words.text([ListedTrace(["id": "e1", "seq": 1])])
        #expect(text == "e1 was received, sequence number 1.\nIts dispatchers are not known.\n")
    }
}
