import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The members of a board's barrier in board.serve, over the socket", .timeLimit(.minutes(5)))
struct BoardBarrierMemberTests {
    /// Runs a service with two clients. `server` serves both boards, and `client` activates `checkout`, whose barrier
    /// is `auth`.
    private func run(
        _ members: DataObject, _ body: (_ server: LineClient, _ client: LineClient) async throws -> Void
    ) async throws {
        try await ServiceStage.run { stage in
            let (server, client) = (try await stage.client(), try await stage.client())
            try await server.serve("auth")
            let barrier = DataObject([("board", "auth")] + members.map { ($0.key, $0.value) })
            try await server.serve("checkout", behind: barrier)
            try await body(server, client)
        }
    }

    /// Waits until the service has handled all requests of both clients. Returns the runs that `server` was asked for.
    private func waiting(_ server: LineClient, _ client: LineClient) async throws -> [LineClient.Run] {
        try await client.call("ping")
        try await server.call("ping")
        var runs: [LineClient.Run] = []
        while await server.waitingRequests > 0 { runs.append(try await server.run()) }
        return runs
    }

    @Test(
        "A3, A4: option and scope decide which activations share one run of the barrier",
        arguments: [
            ([:], 2), (["option": "void"], 2), (["option": "void", "scope": "main"], 2),
            (["option": "unique"], 3), (["option": "each"], 4), (["scope": "global"], 1),
            (["option": "unique", "scope": "global"], 2), (["option": "each", "scope": "global"], 4),
        ] as [(DataObject, Int)])
    func sharing(members: DataObject, runs: Int) async throws {
        try await run(members) { server, client in
            for (input, mainboard) in [(1, "one"), (2, "one"), (1, "one"), (1, "two")] as [(DataItem, DataItem)] {
                _ = await client.activate("checkout", ["input": input, "mainboard": mainboard])
            }
            let requested = try await waiting(server, client)
            #expect(requested.count == runs && requested.allSatisfy { $0.board == "auth" })
        }
    }

    @Test("A5: on_timeout pass lets waiting activations continue when timeout_ms is over")
    func pass() async throws {
        try await run(["timeout_ms": 50, "on_timeout": "pass"]) { server, client in
            // After the barrier's timeout the board itself is asked, and does not answer either.
            let refusal = try await client.error(to: client.activate("checkout", ["timeout_ms": 50]))
            #expect(refusal.reason == "timeout")
            let requested = try await waiting(server, client)
            #expect(requested.map(\.board) == ["auth", "checkout"])
        }
    }

    @Test("A4: sticky_ms makes a completion count for later activations")
    func sticky() async throws {
        try await run(["sticky_ms": 3_600_000]) { server, client in
            var requested: [DataItem] = []
            for runs in [2, 1] {
                _ = await client.activate("checkout")
                for _ in 1...runs { requested.append(try await server.runNext()["board"]) }
            }
            #expect(requested == ["auth", "checkout", "checkout"])
        }
    }

    @Test(
        "A3: with option unique, inputs are compared by their values, not by their JSON text",
        arguments: [
            (#"{"a":1,"b":"\u00e9"}"#, #"{"b":"é","a":1.0}"#, true), (#""\/""#, #""/""#, true),
            ("1E400", "10e399", true), ("-0.0", "0", true), (#"["\ud83d\ude00"]"#, #"[ "😀" ]"#, true),
            ("1E400", "1E401", false), ("1", #""1""#, false), ("[1,2]", "[2,1]", false), (#"{"a":null}"#, "{}", false),
            ("12345678901234567890", "12345678901234567891", false),
            (#""\ud800""#, #""\ud801""#, false), (#""\ud800""#, #""\uD800""#, true),
            (#""\ud800""#, #""\ufffd""#, false),
            (#"{"\ud800":1}"#, #"{"\ud801":1}"#, false), (#"{"a":"\udc00","b":1}"#, #"{"b":1.0,"a":"\udc00"}"#, true),
            (#"["\udbff\udfffeda080"]"#, #"["\ud800"]"#, false), (#"["\udbff\udfff"]"#, "[\"\u{10FFFF}\"]", true),
        ])
    func unique(first: String, second: String, isShared: Bool) async throws {
        try await run(["option": "unique"]) { server, client in
            for (id, input) in [(901, first), (902, second)] {
                let params = #"{"board":"checkout","input":\#(input)}"#
                await client.send(#"{"jsonrpc":"2.0","id":\#(id),"method":"board.activate","params":\#(params)}"#)
            }
            let requested = try await waiting(server, client)
            #expect(requested.count == (isShared ? 1 : 2))
        }
    }
}
