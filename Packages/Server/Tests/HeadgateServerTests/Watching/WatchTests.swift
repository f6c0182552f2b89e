import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Watching", .timeLimit(.minutes(5)))
struct WatchTests {
    @Test("B10: a watch begins with a notification of the present state for each topic")
    func begins() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client("shop/2.1")
            let first = try await client.watch("dispatchers", "barriers", "outcomes", "clients")
            #expect(first["dispatchers"]?["watch"] == "watch-1")
            let listed = try await client.call("dispatcher.list")
            #expect(first["dispatchers"]?["dispatchers"] == listed["dispatchers"])
            #expect(try await first["barriers"]?["barriers"] == client.call("barrier.list")["barriers"])
            #expect(first["barriers"]?["removed"] == [])
            #expect(first["outcomes"]?["outcomes"].elements.map { $0["dispatcher"] } == ["archive", "collect"])
            #expect(first["clients"]?["count"] == 1)
            let me = first["clients"]?["clients"].elements.first
            #expect(me?["session"] == "session-1")
            #expect(me?["client"] == "shop/2.1")
            #expect(me?["pid"] == .number(DataNumber(Int(getpid()))))
            #expect(me?["uid"] == .number(DataNumber(Int(getuid()))))
        }
    }

    @Test("B10: a watch without the param `topics` watches all topics")
    func allTopics() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("watch")
            var topics: Set<String> = []
            for _ in 0..<4 { topics.insert(try await client.notification()["topic"].get() ?? "") }
            #expect(topics == Set(WatchTopic.allCases.map(\.rawValue)))
        }
    }

    @Test("B10: watchers are notified when a dispatcher becomes blocked or open, with time, reason and barrier")
    func dispatcherIsBlocked() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            let since = try await watcher.watch("barriers", "dispatchers")["barriers"]?["barriers"]
                .element(where: "id", is: "ManualBarrier:collect")["since"]
            let operatr = try await stage.client()
            try await operatr.call("dispatcher.pause", ["id": "collect", "reason": "repairs"])
            let news = try await [watcher.notification(), watcher.notification()]
            let barriers = try #require(news.first { $0["topic"] == "barriers" })
            let barrier = barriers["barriers"].elements[0]
            #expect(barriers["barriers"].elements.count == 1)
            #expect(barrier["id"] == "ManualBarrier:collect")
            #expect(barrier["states"] == ["collect": "closed"])
            #expect(barrier["word"] == "manual")
            #expect(barrier["reason"] == "repairs")
            #expect(barrier["flushable"] == false)
            let listed = try await watcher.listedBarrier("ManualBarrier:collect")
            #expect(barrier == listed)
            #expect(barrier["since"] != .null && since != nil)
            let dispatchers = try #require(news.first { $0["topic"] == "dispatchers" })
            #expect(dispatchers["dispatchers"].elements.map { $0["id"] } == ["collect"])
            #expect(dispatchers["dispatchers"].elements[0]["state"] == "blocked")
            #expect(dispatchers["dispatchers"].elements[0]["blocked_by"] == ["ManualBarrier:collect"])
        }
    }

    @Test("B10: a change of only the reason is reported")
    func reasonAlone() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "closed"])
            try await client.call("dispatcher.pause", ["id": "collect", "reason": "repairs"])
            try await client.watch("barriers")
            try await client.call("barrier.set", ["id": "door", "reason": "stocktaking"])
            #expect(try await client.barrier("door")["reason"] == "stocktaking")
            try await client.call("dispatcher.pause", ["id": "collect", "reason": "still at it"])
            #expect(try await client.barrier("ManualBarrier:collect")["reason"] == "still at it")
        }
    }

    @Test("A9, B10: watchers are notified when a client starts or stops serving a dispatcher's board")
    func activationGate() async throws {
        let settings: DataObject = ["dispatchers": ["collect": ["activation_barrier": ["board": "login"]]]]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            let gate = "ActivationGate:collect"
            let first = try await client.watch("barriers")["barriers"]?["barriers"] ?? .null
            #expect(first.element(where: "id", is: .string(gate))["reason"] == "no client serves board login")
            let server = try await stage.client()
            try await server.serve("login")
            _ = try await server.run()
            try await client.barrier(gate) { $0["reason"] == "board login is running" }
            // `board.unserve` lets a run in progress finish.
            try await server.call("board.unserve", ["board": "login"])
            try await client.barrier(gate) { $0["reason"] == "no client serves board login" }
            try await server.serve("login")
            try await client.barrier(gate) { $0["reason"] == "board login is running" }
        }
    }

    @Test("B10: added and removed barriers are reported, even if they apply to no dispatcher")
    func comeAndGo() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.watch("barriers")
            try await client.call("barrier.register", ["id": "door", "state": "closed", "scopes": []])
            #expect(try await client.barrier("door")["states"] == [:])
            try await client.call("barrier.unregister", ["id": "door"])
            try await client.removal(of: "door")
        }
    }

    @Test("B10: the removal of a dispatcher and of its barriers is reported")
    func dispatcherGoes() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.watch("dispatchers", "barriers")
            try await stage.inspect { $0.gate.removeDispatcher("archive") }
            let news = try await [client.notification(), client.notification()]
            #expect(news.first { $0["topic"] == "dispatchers" }?["removed"] == ["archive"])
            let barriers = news.first { $0["topic"] == "barriers" }
            #expect(
                barriers?["removed"] == [
                    "BackoffBarrier:archive", "DeadLettersBarrier:archive", "ManualBarrier:archive",
                ])
        }
    }

    @Test("B10: each notification counts the outcomes since the previous one")
    func outcomes() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "early", "dispatchers": ["collect"]])
            try await client.call("flush", ["wait": true])
            let first = try await client.watch("outcomes")["outcomes"]?["outcomes"]
            #expect(first?.element(where: "dispatcher", is: "collect")["delivered"] == 1)
            #expect(first?.element(where: "dispatcher", is: "archive")["delivered"] == 0)
            try await client.call("track_many", ["events": [["event": "a"], ["event": "b"]]])
            var delivered = ["archive": 0, "collect": 0]
            while delivered != ["archive": 2, "collect": 2] {
                for outcome in try await client.notification()["outcomes"].elements {
                    let id: String = try #require(outcome["dispatcher"].get())
                    delivered[id, default: 0] += try #require(outcome["delivered"].get(as: Int.self))
                    #expect(outcome["last_error"] == nil)
                    #expect(delivered[id, default: 0] <= 2)
                }
            }
        }
    }

    @Test("B10: failed attempts are reported with their cause")
    func failures() async throws {
        let port = try TestSocket.unusedPort()
        let settings: DataObject = [
            "dispatchers": ["collect": ["kind": "http", "path": nil, "endpoint": .string("http://127.0.0.1:\(port)/")]]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            try await client.watch("outcomes", "barriers")
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            let backoff = try await client.barrier("BackoffBarrier:collect") { $0["states"]["collect"] == "closed" }
            #expect(backoff["word"] == "backoff")
            #expect(backoff["reason"] != nil)
            #expect(try await client.listedDispatcher("collect")["last_error"] == backoff["reason"])
        }
    }

    @Test("B10: clients are reported when they connect, call hello, and disconnect")
    func clients() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            try await watcher.watch("clients")
            let other = try await stage.client()
            #expect(try await watcher.notification()["count"] == 2)
            try await other.call("hello", ["client": ["name": "till"]])
            let named = try await watcher.notification()["clients"].element(where: "session", is: "session-2")
            #expect(named["client"] == "till")
            await other.close()
            #expect(try await watcher.notification()["count"] == 1)
        }
    }

    @Test("B10: unwatch ends the caller's watch, and no other client's")
    func unwatch() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let other = try await stage.client()
            try await client.watch("barriers")
            #expect(try await other.refusal("unwatch", ["watch": "watch-1"]).reason == "not_found")
            #expect(try await client.refusal("unwatch", ["watch": "watch-2"]).reason == "not_found")
            #expect(try await client.refusal("unwatch").path == "watch")
            try await client.call("unwatch", ["watch": "watch-1"])
            #expect(try await client.refusal("unwatch", ["watch": "watch-1"]).reason == "not_found")
            #expect(try await stage.inspect { !$0.gate.isWatched })
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("ping")
            #expect(await client.waitingNotifications == 0)
        }
    }

    @Test("B10: a watch ends with its connection")
    func disconnect() async throws {
        try await ServiceStage.run { stage in
            let watcher = try await stage.client()
            let client = try await stage.client()
            try await client.watch("barriers", "outcomes")
            try await watcher.watch("clients")
            await client.close()
            #expect(try await watcher.notification()["count"] == 1)
            try await watcher.call("unwatch", ["watch": "watch-2"])
            #expect(try await stage.inspect { !$0.gate.isWatched })
        }
    }

    @Test("B10: invalid topics are refused with their paths; the number of watches is bounded")
    func refused() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            #expect(try await client.refusal("watch", ["topics": ["weather"]]).path == "topics[0]")
            #expect(try await client.refusal("watch", ["topics": ["clients", 7]]).path == "topics[1]")
            #expect(try await client.refusal("watch", ["topics": "clients"]).path == "topics")
            #expect(try await client.refusal("watch", ["topics": []]).path == "topics")
            for _ in 0..<16 { try await client.watch("clients") }
            #expect(try await client.refusal("watch").reason == "limit")
        }
    }
}
