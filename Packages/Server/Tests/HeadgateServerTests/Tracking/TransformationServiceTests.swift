import HeadgateCore
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Transformations in a service", .timeLimit(.minutes(5)))
struct TransformationServiceTests {
    @Test("P4: a transformation before the store applies for all dispatchers, one after it only for its dispatcher")
    func scopes() async throws {
        let settings: DataObject = [
            "transformations": [
                ["id": "early", "scopes": "afterCollectors", "hash": ["data.email"], "set": ["data.stage": "stored"]],
                [
                    "id": "own", "scopes": ["dispatcher:collect"], "remove": ["data.email", "context.host"],
                    "rename": ["data.n": "data.number"],
                ],
                [
                    "id": "all", "scopes": ["allDispatchers"],
                    "when": ["operator": "equals", "path": "seq", "value": 1], "set": ["key": "first"],
                ],
            ]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            for _ in 1...2 { try await client.call("track", ["event": "x", "data": ["email": "abc", "n": 1]]) }
            let collected = try await stage.events(of: "collect", after: client)
            let archived = try await stage.events(of: "archive", after: client)
            let digest: DataItem = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            #expect(
                collected.map { $0["data"] } == [["stage": "stored", "number": 1], ["stage": "stored", "number": 1]])
            #expect(
                archived.map { $0["data"] } == Array(repeating: ["email": digest, "n": 1, "stage": "stored"], count: 2))
            #expect(collected.map { $0["context"]["host"] } == [.null, .null])
            #expect(archived[0]["context"]["host"] != .null)
            #expect(collected.map { $0["key"] } == ["first", .null])
        }
    }

    @Test("P6: members that a transformation does not change arrive byte for byte as they were sent")
    func fidelity() async throws {
        let settings: DataObject = [
            "transformations": [
                ["id": "early", "scopes": "afterCollectors", "remove": ["data.secret"]],
                ["id": "late", "scopes": "dispatcher:collect", "set": ["data.late": true]],
            ]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            let kept =
                #""z":1.000000000000000000001e+3,"a":-0,"é":1,"e\#u{301}":2,"":null,"\ud83d\ude00":"\u0000\"/","nested":{"y":[1e400,{}],"x":""}"#
            await client.send(
                #"{"jsonrpc":"2.0","id":1000,"method":"track","params":{"event":"x","data":{"secret":1,\#(kept)}}}"#)
            _ = try await client.answer(to: 1000)
            let collected = try await stage.lines(of: "collect", after: client)
            #expect(collected.first?.hasSuffix(#""data":{"# + kept + #","late":true}}"#) == true, "\(collected)")
            let archived = try await stage.lines(of: "archive", after: client)
            #expect(archived.first?.hasSuffix(#""data":{"# + kept + "}}") == true, "\(archived)")
        }
    }

    @Test("P3: load rules see the events as transformed before the store")
    func beforeRules() async throws {
        let settings: DataObject = [
            "dispatchers": ["collect": ["load_rule": ["operator": "equals", "path": "data.kind", "value": "vip"]]],
            "transformations": [
                [
                    "id": "mark", "scopes": "afterCollectors", "set": ["data.kind": "vip", "event": "vip_order"],
                    "when": ["operator": "greater_than", "path": "data.total", "value": 100],
                ]
            ],
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            for total in [50, 150] {
                try await client.call("track", ["event": "order", "data": ["total": .number(DataNumber(total))]])
            }
            #expect(try await stage.events(of: "collect", after: client).map { $0["event"] } == ["vip_order"])
            #expect(try await stage.events(of: "archive", after: client).map { $0["event"] } == ["order", "vip_order"])
        }
    }

    @Test("P4: a program's transformer can drop events for all dispatchers or for one; its errors are counted")
    func dropping() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await stage.inspect { service in
                for (id, scope) in [("early", .afterCollectors), ("late", .dispatcher(id: "collect"))]
                    as [(String, TransformationScope)]
                {
                    service.gate.transformations.register(Gatekeeper(word: id), id: id)
                    try service.gate.transformations.set(
                        TransformationSettings(id: id, transformerId: id, scopes: [scope]))
                }
            }
            #expect(
                try await client.call("track", ["event": "drop early", "id": "1"]) == ["id": "1", "unrouted": true])
            for name in ["drop late", "fail early", "fail late", "pass"] as [DataItem] {
                try await client.call("track", ["event": name])
            }
            let rest: [DataItem] = ["fail early", "fail late", "pass"]
            #expect(try await stage.events(of: "collect", after: client).map { $0["event"] } == rest)
            #expect(try await stage.events(of: "archive", after: client).map { $0["event"] } == ["drop late"] + rest)
            let counters = try await client.call("status")["counters"]
            #expect(counters["transformed_away"] == 2 && counters["transformation_errors"] == 2)
            #expect(counters["received"] == 5 && counters["unrouted"] == 0)
        }
    }

    /// A transformer that drops events that contain a word, or throws for them.
    private struct Gatekeeper: Transformer {
        let word: String

        struct Failure: Error {}

        func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
            if event.event == "fail \(word)" { throw Failure() }
            return event.event == "drop \(word)" ? nil : event
        }
    }
}
