import Testing

/// Settings that come from an HTTP server.
@Suite struct RemoteLayerTests {
    @Test(
        "S1: the remote layer has precedence over the file, is polled with its ETag, and a new version is put in force")
    func fetchedAndRefreshed() async throws {
        try await withScene(waitsLong: true) { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(settings(3, tag: "\"v1\""))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await limit(of: daemon, becomes: 3)
            server.answerAlways(.status(304))
            let asked = try await server.requests(atLeast: server.requests.count + 2)
            #expect(asked.allSatisfy { $0.method == "GET" && $0.target == "/events" })
            #expect(asked.last?.headers["if-none-match"] == "\"v1\"")
            #expect(try await limit(of: daemon) == 3)

            server.answerAlways(settings(4, tag: "\"v2\""))
            try await limit(of: daemon, becomes: 4)
            #expect(try await daemon.ask("config.get", ["layer": "remote"]) == layer(4))
            // The programmatic layer has precedence over the remote layer.
            try await daemon.set(layer(8))
            #expect(try await limit(of: daemon) == 8)
        }
    }

    @Test("S1: without the server at the start the copy on disk is the remote layer")
    func cachedCopy() async throws {
        try await withScene { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(settings(3, tag: "\"v1\""))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await limit(of: daemon, becomes: 3)
            try await daemon.killNow()
            server.goDown()
            try await daemon.start()
            try await limit(of: daemon, becomes: 3)

            // When the server is back, it is asked with the ETag of the copy.
            let before = server.requests.count
            try server.listen()
            let first = try await server.requests(atLeast: before + 1)[before]
            #expect(first.headers["if-none-match"] == "\"v1\"")
        }
    }

    @Test(
        "S2: invalid remote settings or an error leave the previous ones in force",
        arguments: [
            ScriptedAnswer(
                headers: ["ETag: \"bad\""], body: #"{"dispatchers":{"collect":{"dispatch_limit":"three"}}}"#),
            ScriptedAnswer(body: "[]"), ScriptedAnswer(body: "{\"dispatchers\":"), .status(500), .status(404),
        ])
    func faultyAnswer(answer: ScriptedAnswer) async throws {
        try await withScene(waitsLong: true) { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(settings(3, tag: "\"v1\""))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await limit(of: daemon, becomes: 3)
            server.answerAlways(answer)
            try await server.requests(atLeast: server.requests.count + 2)
            #expect(try await limit(of: daemon) == 3)

            // The same holds across a restart: the copy on disk has the settings that were in force.
            try await daemon.killNow()
            server.goDown()
            try await daemon.start()
            try await limit(of: daemon, becomes: 3)
        }
    }

    @Test("S1: without a server and a copy the service uses its file")
    func neverThere() async throws {
        try await withScene { scene in
            let (collector, server) = (try scene.collector(), try scene.collector(listening: false))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
            #expect(try await limit(of: daemon) == 9)
            server.answerAlways(settings(3, tag: "\"v1\""))
            try server.listen()
            try await limit(of: daemon, becomes: 3)
        }
    }

    private func configuration(_ collector: Collector, _ server: Collector) -> JSON {
        [
            "dispatchers": ["collect": collector.dispatcher(["dispatch_limit": 9])],
            "remote": ["url": .string(server.endpoint), "refresh_s": 1],
        ]
    }

    private func layer(_ limit: Int) -> JSON {
        ["dispatchers": ["collect": ["dispatch_limit": JSON(limit)]]]
    }

    private func settings(_ limit: Int, tag: String) -> ScriptedAnswer {
        ScriptedAnswer(headers: ["ETag: \(tag)"], body: layer(limit).description)
    }

    private func limit(of daemon: Daemon) async throws -> Int? {
        try await daemon.ask("config.get")["dispatchers"]["collect"]["dispatch_limit"].int
    }

    private func limit(of daemon: Daemon, becomes wanted: Int) async throws {
        try await eventually("a dispatch_limit of \(wanted)") { try await limit(of: daemon) == wanted }
    }
}
