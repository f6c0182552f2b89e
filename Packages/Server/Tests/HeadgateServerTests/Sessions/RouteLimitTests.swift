import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("The limit of distinct sets of dispatchers", .timeLimit(.minutes(5)))
struct RouteLimitTests {
    @Test("X2: an event with one set of dispatchers too many is refused as `limit`, counted, and not stored")
    func narrowed() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            for id in ["collect", "archive"] { try await client.call("dispatcher.pause", ["id": .string(id)]) }
            try await stage.inspect { $0.gate.events.routes.most = 0 }
            let one = ["collect", "archive"].map { DataItem.array([.string($0)]) }
            var refused = 0
            for ids in one where await isRefused(client, ["event": "x", "dispatchers": ids]) { refused += 1 }
            // The set with only the first dispatcher may be known already.
            #expect((1...2).contains(refused))
            try await client.call("track", ["event": "x"])
            let status = try await client.call("status")
            #expect(status["counters"]["limited"] == .number(DataNumber(refused)))
            #expect(status["store"]["events"] == .number(DataNumber(3 - refused)))
        }
    }

    @Test("X2: sets that load rules select count as well; track_many then stores none of its events")
    func byRules() async throws {
        let settings: DataObject = [
            "dispatchers": [
                "archive": ["load_rule": ["operator": "equals", "path": "a", "value": "1"]],
                "collect": ["load_rule": ["operator": "equals", "path": "c", "value": "1"]],
                "third": ["kind": "file", "path": "third.ndjson"],
            ]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await stage.inspect { $0.gate.events.routes.most = 0 }
            let all: DataItem = ["event": "x", "data": ["a": "1", "c": "1"]]
            let none: DataItem = ["event": "x", "data": ["a": "0", "c": "0"]]
            let refusal = try await client.refusal("track_many", ["events": [all, none]])
            #expect(refusal.reason == "limit")
            #expect(try await client.call("status")["counters"]["received"] == 0)
            try await client.call("track_many", ["events": [all, all]])
        }
    }

    private func isRefused(_ client: LineClient, _ event: DataObject) async -> Bool {
        do {
            try await client.call("track", event)
            return false
        } catch {
            return (error as? Refusal)?.reason == "limit"
        }
    }
}
