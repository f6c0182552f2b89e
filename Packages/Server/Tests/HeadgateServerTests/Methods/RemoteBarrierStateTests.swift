import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("States of barriers over the socket", .timeLimit(.minutes(5)))
struct RemoteBarrierStateTests {
    @Test("B29: a state for one dispatcher stands until a state for all scopes replaces it")
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

    @Test("B10: a reason is told as long as the state that it came with stands")
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

    @Test("B2: a flush goes past a closed barrier that is flushable")
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

    @Test("F3: a flush is held by a barrier that is not flushable, and goes on when that opens")
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

    @Test("D13: what such a barrier held says so by the barrier's id")
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
