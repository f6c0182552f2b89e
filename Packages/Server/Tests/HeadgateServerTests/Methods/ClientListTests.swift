import Foundation
import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("client.list", .timeLimit(.minutes(5)))
struct ClientListTests {
    @Test("O3: client.list shows the counters of each client")
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
            #expect(own["unanswered"] == 1, "the request client.list itself is not answered yet")
        }
    }

    @Test("O3, X2: a client whose requests the daemon does not read is listed with the reason and the duration")
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

    @Test("O3, X2: the reason is the present one, and the duration counts from the last read")
    func fresh() async throws {
        let limits: DataObject = ["max_unanswered": 2, "max_unanswered_bytes": 2_000]
        try await ServiceStage.run(["limits": .object(limits)], timeStands: true) { stage in
            let other = try await stage.client()
            try await other.call("dispatcher.pause", ["id": "archive"])
            try await other.call("track", ["event": "x"])
            let client = try await stage.client()
            for name in ["f1", "f2"] {
                _ = await client.request("flush", ["wait": true, "timeout_ms": 0, "flush": .string(name)])
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] == 1 }
            try await stage.advance(by: .seconds(3))
            let padding = DataItem.string(String(repeating: "x", count: 2_000))
            _ = await client.request("flush", ["wait": true, "timeout_ms": 0, "flush": "f3", "padding": padding])
            try await other.call("flush.cancel", ["flush": "f1"])
            try await stage.until { $0.sessions.counters[.pausedReadings] == 2 }
            try await stage.advance(by: .seconds(1))
            #expect(try await stopped(other) == ["reason": "unanswered", "for_ms": 1_000])
            try await other.call("flush.cancel", ["flush": "f2"])
            #expect(try await stopped(other) == ["reason": "unanswered_bytes", "for_ms": 1_000])
            try await other.call("flush.cancel", ["flush": "f3"])
            _ = try await client.call("ping")
            #expect(try await stopped(other) == .null)
        }
    }

    /// Returns the member `stopped` of the second client.
    private func stopped(_ other: LineClient) async throws -> DataItem {
        try await other.call("client.list")["clients"].elements[1]["stopped"]
    }

    @Test("O3, X2: a client that does not read its answers has the reason `unread_answers` until it has read them")
    func unread() async throws {
        try await ServiceStage.run(["limits": ["max_output_bytes": 50_000]]) { stage in
            let other = try await stage.client()
            let client = try RawClient(connectingTo: stage.socket)
            for number in 1...60 {
                client.send(#"{"jsonrpc":"2.0","id":\#(number),"method":"rpc.discover"}"# + "\n")
            }
            try await stage.until { $0.sessions.counters[.pausedReadings] > 0 }
            #expect(try await stopped(other)["reason"] == "unread_answers")
            var lines = 0
            while lines < 60 {
                lines += client.takeLines()
                try await other.call("ping")
            }
            #expect(try await stopped(other) == .null)
        }
    }

    @Test("O3, X2: a session that waits for the store has the reason `storing` until there is room")
    func storing() async throws {
        let adding: ServiceStage.Adding = { configuration in
            configuration.makeStore = { scheduler in
                let store = FaultyStore(scheduler: scheduler)
                store.holdsAppends = true
                return store
            }
        }
        try await ServiceStage.run(adding: adding) { stage in
            let other = try await stage.client()
            _ = await other.request("track", ["event": "first"])
            let client = try RawClient(connectingTo: stage.socket)
            let data = String(repeating: "x", count: 50_000)
            let event = #"{"jsonrpc":"2.0","id":1,"method":"track","params":{"event":"x","data":{"x":"\#(data)"}}}"#
            while try await !stage.inspect({ $0.sessions.all.contains { $0.stop?.reason == .storing } }) {
                client.fill(with: event + "\n")
            }
            // Meanwhile the daemon answers an operator's calls; an event of the operator's session waits for the store.
            let operating = try await stage.client()
            let entries = try await operating.call("client.list")["clients"].elements
            #expect(entries[1]["stopped"]["reason"] == "storing")
            try await operating.call("config.set", ["patch": ["store": ["max_events": 2_000_000]]])
            try await operating.call("queue.peek", ["dispatcher": "archive"])
            let late = await operating.request("track", ["event": "late"])
            _ = await operating.request("ping")
            try await stage.until { $0.sessions.all.count { $0.stop?.reason == .storing } == 2 }
            try await stage.inspect { service in
                let store = try #require(service.gate.events.store as? FaultyStore)
                store.holdsAppends = false
            }
            try await stage.until { $0.sessions.all.allSatisfy { $0.stop == nil } }
            #expect(try await stopped(other) == .null)
            #expect(try await operating.message(to: late)["result"]["seq"] != .null)
        }
    }

    @Test(
        "O3: a message that is refused or invalid counts as failed, even if it gets no answer",
        arguments: [
            ("no JSON", 1), ("[]", 1), (String(repeating: "x", count: 12_000), 1),
            (#"{"jsonrpc":"2.0","method":"nothing.of.that.name"}"#, 1),
            (#"{"jsonrpc":"2.0","method":"ping","params":[]}"#, 1),
            (#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, 1),
            (#"{"jsonrpc":"2.0","id":1,"method":"track","params":{}}"#, 1),
            (#"{"jsonrpc":"2.0","id":1,"method":"track_many","params":{"events":[{}]}}"#, 1),
            (#"[{"jsonrpc":"2.0","id":1,"method":"track","params":{}},{"jsonrpc":"2.0","id":2,"method":"ping"},5]"#, 2),
            (#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 0), (#"{"jsonrpc":"2.0","method":"ping"}"#, 0),
        ])
    func failed(line: String, count: Int) async throws {
        try await ServiceStage.run(["limits": ["max_line_bytes": 10_000]]) { stage in
            let other = try await stage.client()
            let client = try RawClient(connectingTo: stage.socket)
            client.send(line + "\n" + #"{"jsonrpc":"2.0","id":77,"method":"ping"}"# + "\n")
            var ids: [Int] = []
            while !ids.contains(77) {
                ids += try client.messages().compactMap { $0["id"].get() }
                try await other.call("ping")
            }
            let entry = try await other.call("client.list")["clients"].elements[1]
            #expect(entry["failed"] == .number(DataNumber(count)))
        }
    }

    @Test("O3: a request that fails with an error of the store counts as failed")
    func failedByStore() async throws {
        let adding: ServiceStage.Adding = { $0.makeStore = { FaultyStore(scheduler: $0) } }
        try await ServiceStage.run(adding: adding) { stage in
            let (other, client) = (try await stage.client(), try await stage.client())
            try await client.call("ping")
            try await stage.inspect { service in
                let store = try #require(service.gate.events.store as? FaultyStore)
                store.memory.fault = .failed("the disk is broken")
            }
            var requests: [Int] = []
            for _ in 1...3 { requests.append(await client.request("track", ["event": "x"])) }
            requests.append(await client.request("track_many", ["events": [["event": "x"], ["event": "y"]]]))
            for request in requests {
                #expect(try await client.message(to: request)["error"]["data"]["reason"] == "storage")
            }
            let entry = try await other.call("client.list")["clients"].elements[1]
            #expect(entry["failed"] == 4 && entry["rejected"] == 5)
        }
    }

    @Test("X2: each limit of the account has a word as its reason")
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
