import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Barriers over the socket", .timeLimit(.minutes(5)))
struct RemoteBarrierTests {
    @Test("B29: a registered barrier applies to all dispatchers by default, is flushable, and has its client as owner")
    func registered() async throws {
        try await ServiceStage.run { stage in
            let shop = try await stage.client("shop/2.1")
            #expect(try await shop.call("barrier.register", ["id": "till-open", "state": "closed"]) == [:])
            let barrier = try await shop.listedBarrier("till-open")
            #expect(barrier["kind"] == "RemoteBarrier")
            #expect(barrier["scopes"] == ["all"])
            #expect(barrier["states"] == ["archive": "closed", "collect": "closed"])
            #expect(barrier["flushable"] == true)
            #expect(barrier["word"] == "till-open")
            #expect(barrier["reason"] == nil)
            #expect(barrier["configuration"] == [:])
            let uid = getuid()
            #expect(barrier["owner"] == .string("shop/2.1 (uid \(uid), session-1)"))
            #expect(try await shop.listedDispatcher("collect")["blocked_by"] == ["till-open"])
        }
    }

    @Test("B29: an owner without a client name is shown by its process ID")
    func namelessOwner() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "open"])
            let owner = try await client.listedBarrier("door")["owner"]
            #expect(owner == .string("pid \(getpid()) (uid \(getuid()), session-1)"))
        }
    }

    @Test("B29: an owner that registers its barrier again replaces scopes, states and flushability")
    func registeredAgain() async throws {
        try await ServiceStage.run { stage in
            let shop = try await stage.client()
            try await shop.call("barrier.register", ["id": "door", "state": "closed"])
            try await shop.call(
                "barrier.set", ["id": "door", "state": "open", "dispatcher": "archive", "reason": "why"])
            try await shop.call(
                "barrier.register", ["id": "door", "state": "closed", "scopes": "archive", "flushable": false])
            let barrier = try await shop.listedBarrier("door")
            #expect(barrier["scopes"] == ["archive"])
            #expect(barrier["states"] == ["archive": "closed"])
            #expect(barrier["flushable"] == false)
            #expect(barrier["reason"] == nil)
            #expect(try await shop.listedDispatcher("collect")["state"] == "open")
        }
    }

    @Test("B29: only the owner can change a barrier")
    func strangers() async throws {
        try await ServiceStage.run { stage in
            let owner = try await stage.client("shop/2.1")
            let stranger = try await stage.client()
            try await owner.call("barrier.register", ["id": "door", "state": "closed"])
            let refusals = [
                try await stranger.refusal("barrier.register", ["id": "door", "state": "open"]),
                try await stranger.refusal("barrier.set", ["id": "door", "state": "open"]),
                try await stranger.refusal("barrier.unregister", ["id": "door"]),
            ]
            #expect(refusals.map(\.reason) == ["conflict", "conflict", "conflict"])
            #expect(refusals.allSatisfy { $0.message.contains("belongs to shop/2.1") })
            #expect(try await owner.listedBarrier("door")["states"]["collect"] == "closed")
            try await stranger.call("barrier.unregister", ["id": "door", "force": true])
            #expect(try await owner.listedBarrier("door") == .null)
            #expect(try await owner.refusal("barrier.set", ["id": "door", "state": "open"]).reason == "not_found")
        }
    }

    @Test("B8: a client cannot take over a barrier of the settings or of the service, even by force")
    func servicesOwn() async throws {
        let settings: DataObject = [
            "barriers": ["BatchingBarrier": ["barrier_id": "BatchingBarrier", "configuration": ["batch_size": 5]]]
        ]
        try await ServiceStage.run(settings) { stage in
            let client = try await stage.client()
            for id in ["BatchingBarrier", "ManualBarrier:collect", "BackoffBarrier:archive"] {
                let params: DataObject = ["id": .string(id), "state": "open", "force": true]
                for method in ["barrier.register", "barrier.set", "barrier.unregister"] {
                    #expect(try await client.refusal(method, params).reason == "conflict", "\(method) \(id)")
                }
            }
            for id in ["ConnectivityBarrier", "ManualBarrier:nobody", "ActivationGate:collect"] {
                let params: DataObject = ["id": .string(id), "state": "open"]
                #expect(try await client.refusal("barrier.register", params).reason == "conflict", "\(id)")
            }
        }
    }

    @Test("B29: an unknown barrier or dispatcher is not_found")
    func unknown() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            #expect(try await client.refusal("barrier.set", ["id": "door", "state": "open"]).reason == "not_found")
            #expect(try await client.refusal("barrier.unregister", ["id": "door"]).reason == "not_found")
            #expect(
                try await client.refusal("barrier.unregister", ["id": "door", "force": true]).reason == "not_found")
            try await client.call("barrier.register", ["id": "door", "state": "open"])
            let unknown: DataObject = ["id": "door", "state": "closed", "dispatcher": "nobody"]
            #expect(try await client.refusal("barrier.set", unknown).reason == "not_found")
            #expect(try await client.listedBarrier("door")["states"]["collect"] == "open")
        }
    }

    @Test(
        "B29: missing and invalid params are reported with their paths",
        arguments: [
            (["state": "open"], "id"),
            (["id": "door"], "state"),
            (["id": "", "state": "open"], "id"),
            (["id": "a\nb", "state": "open"], "id"),
            (["id": "door", "state": "ajar"], "state"),
            (["id": "door", "state": "open", "flushable": 1], "flushable"),
            (["id": "door", "state": "open", "on_disconnect": "explode"], "on_disconnect"),
            (["id": "door", "state": "open", "scopes": 5], "scopes"),
            (["id": "door", "state": "open", "scopes": ""], "scopes"),
            (["id": "door", "state": "open", "scopes": ["collect", 5]], "scopes[1]"),
            (["id": "door", "state": "open", "scopes": ["collect", ""]], "scopes[1]"),
        ] as [(DataObject, String)])
    func wrong(_ params: DataObject, _ path: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let refusal = try await client.refusal("barrier.register", params)
            #expect(refusal.code == -32602)
            #expect(refusal.path == path)
            #expect(try await client.listedBarrier("door") == .null)
        }
    }

    @Test("B29: the number of registered barriers is bounded")
    func tooMany() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            var last = 0
            for number in 0..<256 {
                last = await client.request(
                    "barrier.register", ["id": .string("door-\(number)"), "state": "open", "scopes": []])
            }
            _ = try await client.answer(to: last)
            let more: DataObject = ["id": "one-more", "state": "open"]
            #expect(try await client.refusal("barrier.register", more).reason == "limit")
            try await client.call("barrier.unregister", ["id": "door-7"])
            try await client.call("barrier.register", more)
        }
    }

    @Test("X2: status shows 100 warnings and the number of further ones")
    func manyWarnings() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let scopes = (1...130).map { DataItem.string("nobody-\($0)") }
            try await client.call("barrier.register", ["id": "door", "state": "closed", "scopes": .array(scopes)])
            let warnings = try await client.call("status")["warnings"].elements
            #expect(warnings.count == 101)
            let others = warnings.count { !("\($0)".contains("barrier door")) } - 1
            #expect(warnings.last == .string("and \(30 + others) more"))
        }
    }

    @Test("B4: a scope that names no dispatcher is kept, and status has a warning until the scope is removed")
    func idleScope() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call(
                "barrier.register", ["id": "door", "state": "closed", "scopes": ["collect", "nobody", "collect"]])
            #expect(try await client.listedBarrier("door")["scopes"] == ["collect", "nobody"])
            let warning: DataItem = "barrier door: there is no dispatcher `nobody`"
            #expect(try await client.call("status")["warnings"].elements.contains(warning))
            try await client.call("barrier.register", ["id": "door", "state": "closed", "scopes": "collect"])
            #expect(try await !client.call("status")["warnings"].elements.contains(warning))
        }
    }
}

@Suite("States of barriers over the socket", .timeLimit(.minutes(5)))
struct RemoteBarrierStateTests {
    @Test("B29: a state that is set for one dispatcher lasts until a state for all scopes replaces it")
    func stateForOne() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "open"])
            try await client.call("barrier.set", ["id": "door", "state": "closed", "dispatcher": "collect"])
            #expect(try await client.listedBarrier("door")["states"] == ["archive": "open", "collect": "closed"])
            try await client.call("barrier.set", ["id": "door", "flushable": false])
            #expect(try await client.listedBarrier("door")["states"] == ["archive": "open", "collect": "closed"])
            #expect(try await client.listedBarrier("door")["flushable"] == false)
            try await client.call("barrier.set", ["id": "door", "state": "open"])
            #expect(try await client.listedBarrier("door")["states"] == ["archive": "open", "collect": "open"])
        }
    }

    @Test("B10: a reason is shown until the barrier's state changes")
    func reason() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "open"])
            try await client.call("barrier.set", ["id": "door", "state": "closed", "reason": "stocktaking"])
            #expect(try await client.listedBarrier("door")["reason"] == "stocktaking")
            try await client.call("barrier.set", ["id": "door", "flushable": false])
            #expect(try await client.listedBarrier("door")["reason"] == "stocktaking")
            try await client.call("barrier.set", ["id": "door", "reason": "still at it"])
            #expect(try await client.listedBarrier("door")["reason"] == "still at it")
            try await client.call("barrier.set", ["id": "door", "state": "open"])
            #expect(try await client.listedBarrier("door")["reason"] == nil)
        }
    }

    @Test("B2: a flush sends events past a closed barrier that is flushable")
    func flushable() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "closed"])
            try await client.call("track", ["event": "signup"])
            let flush = try await client.call("flush", ["wait": true, "timeout_ms": 0])
            #expect(flush["ended"] == "settled")
            #expect(flush["dispatchers"]["collect"]["sent"] == 1)
            #expect(stage.folder.text(of: "data/collect.ndjson")?.contains("signup") == true)
        }
    }

    @Test("F3: a flush is blocked by a barrier that is not flushable, and continues when the barrier opens")
    func firm() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "door", "state": "closed", "flushable": false])
            try await client.call("track", ["event": "signup"])
            let flush = await client.request("flush", ["wait": true, "timeout_ms": 0, "dispatchers": ["collect"]])
            let held = try await client.listedDispatcher("collect")
            #expect(held["flushing"] == true)
            #expect(held["blocked_by"] == ["door"])
            #expect(held["pending"] == 1)
            try await client.call("barrier.set", ["id": "door", "state": "open"])
            let answer = try await client.answer(to: flush)
            #expect(answer["ended"] == "settled")
            #expect(answer["dispatchers"] == ["collect": ["sent": 1, "failed": 0, "left": 0, "blocked_by": []]])
        }
    }

    @Test("D13: events that a barrier held are sent with the barrier's id as `queue_reason`")
    func queueReason() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "till-open", "state": "closed"])
            try await client.call("track", ["event": "signup"])
            try await client.call("flush", ["wait": true])
            #expect(stage.folder.text(of: "data/collect.ndjson")?.contains(#""queue_reason":"till-open""#) == true)
        }
    }
}
