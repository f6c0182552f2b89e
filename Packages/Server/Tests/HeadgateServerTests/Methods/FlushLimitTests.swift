import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Flushes under way", .timeLimit(.minutes(5))) struct FlushLimitTests {
    @Test("X2: a user has so many flushes under way and no more, over all connections; one that ends makes room")
    func limited() async throws {
        try await ServiceStage.run { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            for number in 1...Limits.mostFlushesPerUser {
                try await client.call("flush", ["flush": .string("flush \(number)"), "timeout_ms": 0])
            }
            #expect(try await client.refusal("flush").reason == "limit")
            #expect(try await other.refusal("flush", ["wait": true]).reason == "limit")
            try await other.call("flush.cancel", ["flush": "flush 7"])
            try await other.call("flush", ["timeout_ms": 0])
            #expect(try await client.refusal("flush").reason == "limit")
            try await client.call("dispatcher.resume", ["id": "collect"])
        }
    }
}
