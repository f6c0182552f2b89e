import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("client.list", .timeLimit(.minutes(5)))
struct ClientListTests {
    @Test("O3: each client is told with what it sent, and with nothing of what others did")
    func counts() async throws {
        let limits: DataObject = ["max_bytes": 100_000]
        try await ServiceStage.run(["store": .object(limits)]) { stage in
            let shop = try await stage.client("shop/2.1")
            let other = try await stage.client()
            for _ in 1...2 { try await shop.call("track", ["event": "signup", "id": "1"]) }
            try await shop.call("track", ["event": "signup", "dispatchers": []])
            try await shop.call("track_many", ["events": [["event": "a"], ["event": "b", "id": "1"]]])
            let much = DataItem.string(String(repeating: "x", count: 100_000))
            _ = try await shop.refusal("track", ["event": "signup", "data": ["much": much]])
            _ = try await shop.refusal("nothing.of.that.name")

            let entries = try await other.call("client.list")["clients"].elements
            #expect(entries.map { $0["session"] } == ["session-1", "session-2"])
            let entry = entries[0]
            #expect(entry["client"] == "shop/2.1" && entry["pid"] == .number(DataNumber(Int(getpid()))))
            #expect(entry["received"] == 6 && entry["duplicates"] == 2 && entry["unrouted"] == 1)
            #expect(entry["rejected"] == 1 && entry["failed"] == 2)
            #expect(entry["unanswered"] == 0 && entry["stopped"] == .null)
            let own = entries[1]
            #expect(own["client"] == .null && own["received"] == 0 && own["failed"] == 0)
            #expect(own["unanswered"] == 1, "its question is being worked on")
        }
    }

    @Test("O3, X2: a client that is not read is told with the reason and since when, until it is read again")
    func stopped() async throws {
        try await ServiceStage.run(["limits": ["max_unanswered": 2]], timeStands: true) { stage in
            let other = try await stage.client()
            try await other.call("dispatcher.pause", ["id": "archive"])
            try await other.call("track", ["event": "x"])
            let client = try await stage.client()
            for name in ["f1", "f2"] {
                _ = await client.request("flush", ["wait": true, "timeout_ms": 0, "flush": .string(name)])
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            try await stage.advance(by: .seconds(3))
            let stopped = try await other.call("client.list")["clients"].elements[1]
            #expect(stopped["stopped"] == ["reason": "unanswered", "for_ms": 3_000])
            #expect(stopped["unanswered"] == 2)
            try await other.call("flush.cancel", ["flush": "f1"])
            _ = try await other.call("ping")
            let read = try await other.call("client.list")["clients"].elements[1]
            #expect(read["stopped"] == .null && read["unanswered"] == 1)
        }
    }

    @Test("X2: each part of an account that is full has its word")
    func words() {
        func word(_ change: (inout SessionAccount) -> Void) -> SessionMachine.Stop? {
            var account = SessionAccount()
            change(&account)
            return account.fullPart(within: Limits())
        }
        let limits = Limits()
        #expect(word { _ in } == nil)
        #expect(word { $0.take(limits.maxUnanswered, bytes: 0) } == .unanswered)
        #expect(word { $0.take(1, bytes: limits.maxUnansweredBytes) } == .unansweredBytes)
        #expect(word { $0.keep(bytes: limits.maxOutputBytes) } == .unreadAnswers)
        #expect(word { $0.outputBytes = limits.maxOutputBytes } == .unreadAnswers)
    }
}
