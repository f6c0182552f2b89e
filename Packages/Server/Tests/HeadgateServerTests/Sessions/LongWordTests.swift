import HeadgateData
import Testing

@testable import HeadgateServer

/// X3: lines that would be expensive to read are refused by their length.
@Suite("Long words and numbers", .timeLimit(.minutes(5)))
struct LongWordTests {
    /// 200 000 bytes that Swift would have to normalize to compare them.
    private static let accents = "a" + String(repeating: "\u{301}\u{323}", count: 50_000)

    @Test("X3: an unknown method with a long name is refused with a short message")
    func method() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let error = try await client.refusal(String(repeating: "x", count: 200_000))
            #expect(error.code == -32601 && error.message.utf8.count < 400)
            try await client.call("ping")
        }
    }

    @Test("X3: a long name of a dispatcher, a barrier or a status is refused before it is looked up")
    func names() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let name = DataItem.string(Self.accents)
            let calls: [(String, DataObject, String)] = [
                ("dispatcher.pause", ["id": name], "id"), ("barrier.set", ["id": name], "id"),
                ("application.status", ["status": name], "status"), ("board.activate", ["board": name], "board"),
                ("track", ["event": "x", "dispatchers": [name]], "dispatchers[0]"),
                ("track", ["event": "x", "time": name], "time"), ("event.trace", ["id": name], "id"),
            ]
            for (method, params, path) in calls {
                let error = try await client.refusal(method, params)
                #expect(error.code == -32602 && error.data["path"] == .string(path), "\(method)")
                #expect(error.message.utf8.count < 400, "\(method)")
            }
        }
    }

    @Test("X3: a number with very many digits is not a whole number, and short spellings of one still are")
    func numbers() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let long = try DataItem(parsing: Array(("1" + String(repeating: "0", count: 500_000)).utf8))
            let error = try await client.refusal("track", ["event": "x", "ttl_ms": long])
            #expect(error.data["path"] == "ttl_ms")
            for text in ["7e3", "7000.0", "7000"] {
                try await client.call("track", ["event": "x", "ttl_ms": try DataItem(parsing: Array(text.utf8))])
            }
        }
    }
}
