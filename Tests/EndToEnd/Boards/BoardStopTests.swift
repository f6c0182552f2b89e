import Testing

/// What a stop of the daemon means to boards.
@Suite struct BoardStopTests {
    @Test("A stop answers those who wait for a board")
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
