import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("queue.peek and queue.purge", .timeLimit(.minutes(5)))
struct QueueMethodTests {
    @Test("queue.peek returns pending events, and queue.purge deletes them")
    func peekAndPurge() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            for id in ["a", "b", "c"] {
                try await client.call("track", ["event": "x", "id": .string(id), "dispatchers": ["collect"]])
            }
            let peeked = try await client.call("queue.peek", ["dispatcher": "collect", "limit": 2])
            #expect(peeked["events"].elements.map { $0["id"] } == ["a", "b"])
            #expect(try await client.call("queue.purge", ["dispatcher": "collect", "before_seq": 3]) == ["purged": 2])
            let rest = try await client.call("queue.peek", ["dispatcher": "collect"])
            #expect(rest["events"].elements.map { $0["id"] } == ["c"])
            #expect(try await client.call("queue.peek", ["dispatcher": "archive"])["events"] == [])
        }
    }

    @Test("X2: an answer of queue.peek is at most half a line of a client, and has the position of the next page")
    func pages() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            let data: DataObject = ["x": .string(String(repeating: "\u{1}", count: 25_000))]
            for _ in 1...8 { try await client.call("track", ["event": "x", "data": .object(data)]) }
            let page = try await client.call("queue.peek", ["dispatcher": "collect", "limit": 1_000])
            #expect(page["events"].elements.map { $0["seq"] } == [1, 2, 3])
            #expect(page["next"] == 3)
            let rest = try await client.call("queue.peek", ["dispatcher": "collect", "limit": 1_000, "after": 6])
            #expect(rest["events"].elements.map { $0["seq"] } == [7, 8])
            #expect(rest["next"] == .null)
        }
    }

    @Test(
        "An invalid parameter is reported with its path, an unknown dispatcher as not_found",
        arguments: [
            ("queue.peek", [:], "dispatcher"), ("queue.peek", ["dispatcher": 3], "dispatcher"),
            ("queue.peek", ["dispatcher": "collect", "limit": 0], "limit"),
            ("queue.peek", ["dispatcher": "collect", "limit": 1_001], "limit"),
            ("queue.peek", ["dispatcher": "collect", "after": -1], "after"),
            ("queue.purge", [:], "dispatcher"),
            ("queue.purge", ["dispatcher": "collect", "before_seq": "3"], "before_seq"),
            ("queue.purge", ["dispatcher": "collect", "before_seq": 0], "before_seq"),
            ("queue.peek", ["dispatcher": "nowhere"], nil), ("queue.purge", ["dispatcher": "nowhere"], nil),
        ] as [(String, DataObject, String?)])
    func wrong(_ method: String, _ params: DataObject, _ path: String?) async throws {
        try await ServiceStage.run { stage in
            let refusal = try await stage.client().refusal(method, params)
            #expect(refusal.path == path)
            #expect(refusal.reason == (path == nil ? "not_found" : nil))
            #expect(refusal.code == (path == nil ? -32000 : -32602))
        }
    }
}
