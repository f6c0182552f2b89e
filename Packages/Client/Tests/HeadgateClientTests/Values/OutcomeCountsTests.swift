import HeadgateClient
import Testing

@Suite struct OutcomeCountsTests {
    @Test("What is told since is added to what was; the last error is the latest, or none")
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
