import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("What counts as received", .timeLimit(.minutes(5)))
struct ReceivedCounterTests {
    @Test("P1: every valid event counts as received, and one for which there is no room as rejected as well")
    func fullStore() async throws {
        try await ServiceStage.run(["store": ["max_events": 2]]) { stage in
            let client = try await stage.client()
            for id in ["collect", "archive"] { try await client.call("dispatcher.pause", ["id": .string(id)]) }
            for id in ["a", "b", "a"] { try await client.call("track", ["event": "x", "id": .string(id)]) }
            for _ in 1...3 { #expect(try await client.refusal("track", ["event": "x"]).reason == "queue_full") }
            let many: DataItem = .array(Array(repeating: ["event": "x"], count: 10))
            #expect(try await client.refusal("track_many", ["events": many]).reason == "queue_full")
            #expect(try await client.refusal("track", ["event": 7]).code == -32602)
            let counters = try await client.call("status")["counters"]
            #expect(counters["received"] == 16 && counters["rejected"] == 13 && counters["duplicates"] == 1)
        }
    }
}
