import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Barriers whose owners disconnect", .timeLimit(.minutes(5)))
struct RemoteBarrierDisconnectTests {
    /// Registers a barrier `door` by a client that then disconnects. Returns another client, which watches barriers.
    private func leave(
        _ stage: ServiceStage, _ onDisconnect: String?, state: String = "closed"
    ) async throws -> LineClient {
        let watcher = try await stage.client()
        try await watcher.watch("barriers")
        let owner = try await stage.client("shop/2.1")
        var params: DataObject = ["id": "door", "state": .string(state)]
        if let onDisconnect { params["on_disconnect"] = .string(onDisconnect) }
        try await owner.call("barrier.register", params)
        try await watcher.barrier("door") { $0["owner"] != .null }
        await owner.close()
        return watcher
    }

    @Test("B29: by default a barrier is removed when its owner disconnects", arguments: [nil, "unregister"])
    func unregister(_ onDisconnect: String?) async throws {
        try await ServiceStage.run { stage in
            let watcher = try await leave(stage, onDisconnect)
            try await watcher.removal(of: "door")
            #expect(try await watcher.listedBarrier("door") == .null)
            #expect(try await watcher.listedDispatcher("collect")["state"] == "open")
        }
    }

    @Test(
        "B29: `on_disconnect` keeps a barrier without its owner: opened, closed, or as it was",
        arguments: [
            ("open", "closed", "open"), ("open", "open", "open"), ("close", "open", "closed"),
            ("close", "closed", "closed"), ("keep", "open", "open"), ("keep", "closed", "closed"),
        ])
    func stays(_ onDisconnect: String, _ before: String, _ after: String) async throws {
        try await ServiceStage.run { stage in
            let watcher = try await leave(stage, onDisconnect, state: before)
            let barrier = try await watcher.barrier("door") { $0["owner"] == .null }
            #expect(barrier["states"] == ["archive": .string(after), "collect": .string(after)])
            let reason: String? = barrier["reason"].get()
            #expect(reason?.hasPrefix("its owner shop/2.1") == true)
        }
    }

    @Test("B29: a barrier that its owner left keeps its reasons and states")
    func kept() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            try await watcher.watch("barriers")
            let owner = try await stage.client()
            try await owner.call("barrier.register", ["id": "door", "state": "open", "on_disconnect": "keep"])
            try await owner.call(
                "barrier.set", ["id": "door", "state": "closed", "dispatcher": "archive", "reason": "moving"])
            await owner.close()
            let barrier = try await watcher.barrier("door") { $0["owner"] == .null }
            #expect(barrier["states"] == ["archive": "closed", "collect": "open"])
            #expect(barrier["reason"] == "moving")
        }
    }

    @Test("B29: a barrier that its owner left cannot be set; a client takes it over by registering its id")
    func takeover() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await leave(stage, "close")
            try await watcher.barrier("door") { $0["owner"] == .null }
            let set = try await watcher.refusal("barrier.set", ["id": "door", "state": "open"])
            #expect(set.reason == "conflict")
            #expect(try await watcher.refusal("barrier.unregister", ["id": "door"]).reason == "conflict")
            let heir = try await stage.client("heir")
            try await heir.call("barrier.register", ["id": "door", "state": "open"])
            let owner: String? = try await heir.listedBarrier("door")["owner"].get()
            #expect(owner?.hasPrefix("heir (") == true)
            try await heir.call("barrier.set", ["id": "door", "state": "closed"])
            #expect(try await watcher.refusal("barrier.set", ["id": "door", "state": "open"]).reason == "conflict")
            // The new owner registered the barrier without `on_disconnect`, so it is removed with that owner.
            await heir.close()
            try await watcher.removal(of: "door")
        }
    }

    @Test("B29: an operator can remove a barrier that its owner left by force")
    func forced() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await leave(stage, "keep")
            try await watcher.barrier("door") { $0["owner"] == .null }
            try await watcher.call("barrier.unregister", ["id": "door", "force": true])
            #expect(try await watcher.listedBarrier("door") == .null)
        }
    }

    @Test("B29: pending events are sent when the barrier that held them is removed")
    func released() async throws {
        try await ServiceStage.run { stage in
            let owner = try await stage.client()
            try await owner.call("barrier.register", ["id": "door", "state": "closed", "scopes": "collect"])
            let other = try await stage.client()
            try await other.watch("outcomes")
            try await other.call("track", ["event": "signup", "dispatchers": ["collect"]])
            #expect(try await other.listedDispatcher("collect")["pending"] == 1)
            await owner.close()
            let outcome = try await other.notification()["outcomes"].element(where: "dispatcher", is: "collect")
            #expect(outcome["delivered"] == 1)
        }
    }
}
