import HeadgateClient
import HeadgateData
import HeadgateWire
import Testing

/// Tests the values of entries that the daemon lists.
@Suite struct ListedEntryTests {
    @Test("A barrier's entry is read whole")
    func barrier() throws {
        let entry = try DataItem(
            parsing: Array(
                #"""
                {"id":"night","kind":"ScheduleBarrier","scopes":["collect","archive"],
                 "states":{"collect":"closed","archive":"waiting","x":"open"},"flushable":true,
                 "since":"2026-11-20T09:41:55.123Z","owner":"shop","word":"schedule","reason":"it is night",
                 "configuration":{"start_hour":9}}
                """#.utf8))
        let barrier = ListedBarrier(try #require(entry.get(as: DataObject.self)))
        #expect(barrier.id == "night")
        #expect(barrier.scopes == ["collect", "archive"])
        #expect(barrier.states.map(\.state) == [.closed, .waiting, .open])
        #expect(barrier.held == ["collect", "archive"])
        #expect(barrier.isFlushable)
        #expect(barrier.since == Timestamp(rfc3339: "2026-11-20T09:41:55.123Z"))
        #expect(barrier.owner == "shop")
        #expect(barrier.reason == "it is night")
        #expect(barrier.configuration == ["start_hour": 9])
    }

    @Test("An empty entry, or one with nulls, is valid")
    func empty() {
        let barrier = ListedBarrier(["reason": .null, "owner": .null, "states": .null])
        #expect(barrier.reason == nil && barrier.owner == nil && barrier.held == [])
        let dispatcher = ListedDispatcher(["oldest_ms": .null, "retry_at": .null, "state": "blocked"])
        #expect(dispatcher.oldest == nil && dispatcher.retryAt == nil && !dispatcher.isOpen)
    }

    @Test("F2: the answer of a flush is read whole; one with an unknown end is a bad answer")
    func flush() throws {
        let answer = try FinishedFlush([
            "flush": "f1", "ended": "timeout",
            "dispatchers": ["collect": ["sent": 3, "failed": 1, "left": 2, "blocked_by": ["ManualBarrier:collect"]]],
        ])
        #expect(answer.ended == .timeout)
        let part = try #require(answer.dispatchers.first)
        #expect((part.dispatcher, part.sent, part.failed, part.left) == ("collect", 3, 1, 2))
        #expect(part.blockedBy == ["ManualBarrier:collect"])
        #expect(throws: ClientError.self) { try FinishedFlush(["ended": "somehow"]) }
    }
}

@Suite struct OutcomeCountsTests {
    @Test("Later outcomes are added to earlier ones; the last error is the latest, or none")
    func sum() throws {
        let list = try #require(
            OutcomeCounts.list(in: [
                "outcomes": [
                    [
                        "dispatcher": "a", "delivered": 3, "retried": 1, "dead": 1, "expired": 2,
                        "last_error": "HTTP 500",
                    ],
                    ["dispatcher": "a", "delivered": 4, "evicted": 5, "last_error": nil],
                ]
            ]))
        var sum = list[0]
        #expect(sum.lastError == "HTTP 500")
        sum.add(list[1])
        #expect([sum.delivered, sum.retried, sum.dead, sum.expired, sum.evicted] == [7, 1, 1, 2, 5])
        #expect(sum.lastError == nil)
    }

    @Test("Numbers that are too large to be added do not end the program")
    func overflow() {
        var sum = OutcomeCounts(["delivered": .number(.init(Int.max))])
        sum.add(sum)
        #expect(sum.delivered < 0)
    }
}
