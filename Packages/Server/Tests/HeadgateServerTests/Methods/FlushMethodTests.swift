import Foundation
import HeadgateData
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite struct FlushMethodTests {
    /// Params of `flush` and the timeouts that they request. Nil stands for no timeout.
    private static let timeouts: [(params: DataObject, lasts: Duration?)] = [
        ([:], .seconds(30)), (["timeout_ms": 5_000], .seconds(5)), (["timeout_ms": 0], nil),
    ]

    @Test("F2: the timeout of a flush is 30 s by default, and `timeout_ms` 0 means no timeout", arguments: timeouts)
    func timeout(params: DataObject, lasts: Duration?) async throws {
        try await ServiceStage.run(timeStands: true) { stage in
            let client = try await stage.client()
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "x"])
            try await client.call("flush", params)
            let (end, now) = try await stage.inspect { ($0.gate.flushes.table.nextDeadline, $0.scheduler.now) }
            #expect(end == lasts.map { now + $0 })
        }
    }
}

@Suite("Flushes in progress", .timeLimit(.minutes(5))) struct FlushLimitTests {
    @Test("X2: flush.list shows each flush in progress with its user, even if its client is gone; flush.cancel ends it")
    func listed() async throws {
        try await ServiceStage.run { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            try await client.call("flush", ["flush": "endless", "timeout_ms": 0, "dispatchers": ["collect"]])
            try await client.call("flush", ["flush": "short", "timeout_ms": 60_000])
            _ = try await stage.inspect { $0.gate.flush(id: "own", timeout: .seconds(60)) { _ in } }
            await client.close()
            let listed = try await other.call("flush.list")["flushes"].elements
            let uid = DataItem.number(DataNumber(Int(getuid())))
            #expect(listed.map { $0["flush"] } == ["endless", "short", "own"])
            #expect(listed.map { $0["uid"] } == [uid, uid, .null])
            #expect(listed.map { $0["timeout_ms"] } == [.null, 60_000, 60_000])
            #expect(
                listed.map { $0["dispatchers"] } == [["collect"], ["archive", "collect"], ["archive", "collect"]])
            for flush in listed { try await other.call("flush.cancel", ["flush": flush["flush"]]) }
            #expect(try await other.call("flush.list") == ["flushes": []])
        }
    }

    @Test("X2: the flushes in progress of a user are limited over all connections, and a flush that ends makes room")
    func limited() async throws {
        try await ServiceStage.run { stage in
            let (client, other) = (try await stage.client(), try await stage.client())
            try await client.call("dispatcher.pause", ["id": "collect"])
            try await client.call("track", ["event": "signup", "dispatchers": ["collect"]])
            for number in 1...Limits.mostFlushesPerUser {
                try await client.call("flush", ["flush": .string("flush \(number)"), "timeout_ms": 0])
            }
            #expect(try await client.refusal("flush").reason == "limit")
            #expect(try await other.refusal("flush", ["wait": true]).reason == "limit")
            try await other.call("flush.cancel", ["flush": "flush 7"])
            try await other.call("flush", ["timeout_ms": 0])
            #expect(try await client.refusal("flush").reason == "limit")
            try await client.call("dispatcher.resume", ["id": "collect"])
        }
    }
}
