import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Load rules in a service", .timeLimit(.minutes(5)))
struct LoadRuleTests {
    private static func settings(collect: DataItem, archive: DataItem = ["operator": "is_defined", "path": "event"])
        -> DataObject
    {
        ["dispatchers": ["collect": ["load_rule": collect], "archive": ["load_rule": archive]]]
    }

    @Test("P3: a dispatcher gets the events that match its rule; an event that none matches is not stored")
    func routes() async throws {
        let isOrder: DataItem = ["operator": "starts_with", "path": "event", "value": "order"]
        let isLarge: DataItem = ["and": [isOrder, ["operator": "greater_than", "path": "data.total", "value": 1e2]]]
        try await ServiceStage.run(Self.settings(collect: isOrder, archive: isLarge)) { stage in
            let client = try await stage.client()
            for (name, total) in [("order_1", 100.5), ("order_2", 100), ("visit", 1000)] as [(DataItem, DataItem)] {
                try await client.call("track", ["event": name, "data": ["total": total]])
            }
            let unrouted = try await client.call("track", ["event": "visit", "id": "v"])
            #expect(unrouted == ["id": "v", "unrouted": true])
            let many = try await client.call("track_many", ["events": [["event": "visit"], ["event": "order_3"]]])
            #expect(many["unrouted"] == 1)
            #expect(
                try await stage.events(of: "collect", after: client).map { $0["event"] } == [
                    "order_1", "order_2", "order_3",
                ])
            #expect(try await stage.events(of: "archive", after: client).map { $0["event"] } == ["order_1"])
            let counters = try await client.call("status")["counters"]
            #expect(counters["unrouted"] == 3 && counters["received"] == 6 && counters["delivered"] == 4)
        }
    }

    @Test(
        "S5: a rule can test every member that an event has before it is stored",
        arguments: [
            (["operator": "equals", "path": "id", "value": "a\"1"], true),
            (["operator": "equals", "path": "key", "value": "k\u{E9}"], true),
            (["operator": "equals", "path": "time", "value": "2026-01-02T03:04:05.000Z"], true),
            (["operator": "is_defined", "path": "received_at"], true),
            (["operator": "is_defined", "path": "seq"], false),
            (["operator": "is_defined", "path": "context.uid"], true),
            (["operator": "regular_expression", "path": "context.client", "value": #"^shop/\d"#], true),
            (["operator": "equals", "path": "data.user.id", "value": 12_345_678_901_234_567], true),
            (["operator": "equals", "path": "user.tags.1", "value": "B", "ignore_case": true], true),
            (["operator": "is_defined", "path": "user.tags.2"], false),
            (["operator": "is_empty", "path": "data.none"], true),
            (["operator": "not_equals", "path": "data.missing", "value": "x"], false),
            (["operator": "equals", "path": #"data.a\.b"#, "value": true], true),
            (["operator": "equals", "path": "data.é", "value": 1], true),
            (["operator": "equals", "path": "data.e\u{301}", "value": 2], true),
            (["operator": "equals", "path": "data.twice", "value": 2], true),
        ] as [(DataItem, Bool)])
    func fields(rule: DataItem, holds: Bool) async throws {
        try await ServiceStage.run(Self.settings(collect: rule, archive: ["not": rule])) { stage in
            let client = try await stage.client("shop/2.1")
            await client.send(
                #"""
                {"jsonrpc":"2.0","id":1000,"method":"track","params":{"event":"order","id":"a\"1","key":"k\u00e9","time":"2026-01-02T03:04:05Z",\#
                "data":{"user":{"id":12345678901234567.0,"tags":["a","b"]},"none":[],"a.b":true,"\u00e9":1,"e\u0301":2,"twice":1,"twice":2}}}
                """#)
            _ = try await client.answer(to: 1000)
            #expect(try await stage.lines(of: "collect", after: client).count == (holds ? 1 : 0))
            #expect(try await stage.lines(of: "archive", after: client).count == (holds ? 0 : 1))
        }
    }

    @Test("P3: rules that an embedding program sets while the service runs apply to the next event")
    func changes() async throws {
        let settings: DataObject = [
            "dispatchers": ["collect": ["load_rule": "wanted"]],
            "load_rules": ["wanted": ["operator": "equals", "path": "event", "value": "a"]],
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "b", "dispatchers": ["collect"]])
            try await stage.inspect { service in
                try service.gate.loadRules.set(
                    .just(.equals(ignoreCase: false, variable: "event", target: "b")), forId: "wanted")
            }
            try await client.call("track", ["event": "b", "dispatchers": ["collect"]])
            #expect(try await stage.lines(of: "collect", after: client).count == 1)
        }
    }
}
