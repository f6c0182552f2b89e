import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

extension ServiceStage {
    /// Makes the store hold reads, or releases held ones.
    /// - Returns: the number of reads so far.
    @discardableResult
    fileprivate nonisolated func holdReads(_ isHeld: Bool) async throws -> Int {
        try await inspect { service in
            let store = try #require(service.gate.events.store as? FaultyStore)
            store.holdsReads = isHeld
            return store.readCount + store.deadLetterReadCount
        }
    }
}

@Suite("event.trace", .timeLimit(.minutes(5)))
struct TraceMethodTests {
    @Test(
        "O2: a trace shows that an event is pending for one dispatcher and was delivered by another",
        arguments: ["log", "sqlite"])
    func trace(kind: String) async throws {
        try await ServiceStage.run(["durability": "full", "store": ["kind": .string(kind)]]) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            for id in ["a", "b"] { try await client.call("track", ["event": "signup", "id": .string(id)]) }
            try await client.call("flush", ["wait": true, "dispatchers": ["archive"]])
            let event = try await client.call("event.trace", ["id": "b"])["events"].elements[0]
            #expect(event["id"] == "b" && event["seq"] == 2 && event["event"] == "signup")
            #expect(event["namespace"].json.hasPrefix(#""uid:"#))
            let archive = event["dispatchers"]["archive"]
            #expect(archive["state"] == "delivered" && archive["attempts"] == 1 && archive["at"] != .null)
            #expect(
                event["dispatchers"]["collect"] == [
                    "state": "pending", "at": nil, "attempts": 0, "last_error": nil, "ahead": 1,
                    "blocked_by": ["ManualBarrier:collect"], "letter": nil, "replayed": false,
                ])
        }
    }

    @Test(
        "O2: an event with an id that the server created is found, even if finished events are not remembered",
        arguments: [0, 100])
    func made(remember: Int) async throws {
        let settings: DataObject = ["trace": ["remember": .number(DataNumber(remember))], "durability": "normal"]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            let id = try await client.call("track", ["event": "x"])["id"]
            let found = try await client.call("event.trace", ["id": id])["events"].elements
            #expect(found.map { $0["seq"] } == [1])
            #expect(found[0]["dispatchers"]["collect"]["state"] == "pending")
        }
    }

    @Test("O2: an id is searched in the caller's namespace, in a named one, or with `*` in all")
    func namespaces() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let shop = try await stage.client()
            try await shop.call("hello", ["client": ["name": "shop"], "namespace": "shop"])
            for one in [client, shop] { try await one.call("track", ["event": "x", "id": "a"]) }
            func sequenceNumbers(_ caller: LineClient, _ namespace: DataItem?) async throws -> [DataItem] {
                var params: DataObject = ["id": "a"]
                params["namespace"] = namespace
                return try await caller.call("event.trace", params)["events"].elements.map { $0["seq"] }
            }
            #expect(try await sequenceNumbers(client, nil) == [1])
            #expect(try await sequenceNumbers(shop, nil) == [2])
            #expect(try await sequenceNumbers(client, "shop") == [2])
            #expect(try await sequenceNumbers(client, "*") == [1, 2])
            #expect(try await client.refusal("event.trace", ["id": "a", "namespace": "other"]).reason == "not_found")
        }
    }

    @Test("X2: a user has at most 256 traces in progress over all connections; a disconnected client's are dropped")
    func most() async throws {
        let adding: ServiceStage.Adding = { $0.makeStore = { FaultyStore(scheduler: $0) } }
        try await ServiceStage.run(["trace": ["remember": 0]], adding: adding) { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "x", "id": "a"])
            try await stage.holdReads(true)
            for number in 1...Limits.mostTracesPerUser {
                _ = await client.request("event.trace", ["id": .string("unknown-\(number)")])
            }
            try await client.call("ping")
            #expect(try await other.refusal("event.trace", ["id": "a"]).reason == "limit")
            await client.close()
            try await stage.until { $0.sessions.count == 1 }
            let reads = try await stage.holdReads(false)
            // Only the first trace of the disconnected client still reads. The client's other traces are dropped.
            var traced = try await other.message(to: other.request("event.trace", ["id": "a"]))
            while traced["error"] != .null {
                traced = try await other.message(to: other.request("event.trace", ["id": "a"]))
            }
            #expect(traced["result"]["events"].elements.count == 1)
            #expect(try await stage.holdReads(false) - reads < 10)
        }
    }

    @Test("O2: a change of `trace.remember` applies at once")
    func changed() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "x", "id": "a"])
            try await client.call("flush", ["wait": true])
            #expect(try await client.call("event.trace", ["id": "a"])["events"].elements.count == 1)
            try await client.call("config.set", ["patch": ["trace": ["remember": 0]]])
            #expect(try await client.refusal("event.trace", ["id": "a"]).reason == "not_found")
        }
    }
}
