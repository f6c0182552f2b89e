import Testing

/// The dispatchers that an event goes to.
@Suite struct RoutingTests {
    private func daemon(_ scene: Scene, _ one: Collector, _ two: Collector) async throws -> Daemon {
        try await scene.daemon(["dispatchers": ["one": one.dispatcher(), "two": two.dispatcher()]])
    }

    @Test("An event goes to all dispatchers, or to the named ones")
    func narrowed() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let client = try await daemon(scene, one, two).connect()
            let routes: [JSON] = [["one", "two"], ["one"], ["two"], ["two", "one"]]
            for (number, route) in routes.enumerated() {
                _ = try await client.result("track", ["event": "x", "id": "\(number)", "dispatchers": route])
            }
            _ = try await client.result("track", ["event": "x", "id": "all"])
            #expect(try await one.acceptedIDs(atLeast: 4) == ["0", "1", "3", "all"])
            #expect(try await two.acceptedIDs(atLeast: 4) == ["0", "2", "3", "all"])
        }
    }

    @Test("Q3: narrowing survives a restart")
    func narrowingSurvivesRestart() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let daemon = try await daemon(scene, one, two)
            try await daemon.pause("one")
            try await daemon.pause("two")
            let client = try await daemon.connect()
            for number in 1...20 {
                let route: JSON = number % 2 == 0 ? ["one"] : ["two"]
                _ = try await client.result("track", ["event": "x", "id": "\(number)", "dispatchers": route])
            }
            try await daemon.killNow()
            try await daemon.start()
            #expect(try await daemon.dispatcher("one")["pending"] == 10)
            try await daemon.resume("one")
            try await daemon.resume("two")
            #expect(try await one.acceptedIDs(atLeast: 10) == (1...10).map { "\($0 * 2)" })
            #expect(try await two.acceptedIDs(atLeast: 10) == (0...9).map { "\($0 * 2 + 1)" })
        }
    }

    @Test("P3: an event that no dispatcher accepts is acknowledged as unrouted, counted and not stored")
    func unrouted() async throws {
        try await withScene { scene in
            let (one, two) = (try scene.collector(), try scene.collector())
            let daemon = try await daemon(scene, one, two)
            let answer = try await daemon.ask("track", ["event": "x", "id": "u-1", "dispatchers": []])
            #expect(answer == ["id": "u-1", "unrouted": true])
            let status = try await daemon.ask("status")
            #expect(status["counters"].contains(["received": 1, "unrouted": 1]))
            #expect(status["store"]["events"] == 0)

            let events: JSON = [["event": "x", "id": "1", "dispatchers": []], ["event": "x", "id": "2"]]
            let many = try await daemon.ask("track_many", ["events": events])
            #expect(many.contains(["ids": ["1", "2"], "unrouted": 1]))
            #expect(try await one.acceptedIDs(atLeast: 1) == ["2"])
        }
    }
}
