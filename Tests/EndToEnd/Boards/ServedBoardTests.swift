import Testing

/// Boards when the daemon stops.
@Suite struct BoardStopTests {
    @Test("A stop answers waiting activations")
    func answered() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon([:])
            let (server, client) = (try await daemon.connect(), try await daemon.connect())
            _ = try await server.result("board.serve", ["board": "checkout"])
            let id = try await client.request("board.activate", ["board": "checkout"])
            #expect(try await server.message()["method"] == "board.run")
            #expect(try await daemon.stop() == 0)
            #expect(try await client.answer(to: id)["error"]["data"]["reason"] == "shutting_down")
        }
    }
}

/// The log about boards that ask to bypass the gateway.
@Suite struct GatewayBypassTests {
    @Test("A7: a forbidden bypass of the gateway is logged when the board is served, and an allowed one is not")
    func warned() async throws {
        try await withScene { scene in
            let gateway: JSON = ["allow_bypass": false, "rules": ["shop.*": ["board": "auth"]]]
            let daemon = try await scene.daemon(["gateway": gateway])
            let server = try await daemon.connect()
            for board in ["shop.till", "bakery"] {
                _ = try await server.result("board.serve", ["board": .string(board), "bypass_gateway": true])
            }
            _ = try await server.result("board.serve", ["board": "shop.cart"])
            let warnings = daemon.log.split(separator: "\n").filter { $0.contains("bypass") }
            try #require(warnings.count == 1)
            #expect(warnings[0].contains("board shop.till of session-"))
            #expect(warnings[0].hasSuffix(" asks to bypass the gateway, which the settings forbid"))
        }
    }
}
