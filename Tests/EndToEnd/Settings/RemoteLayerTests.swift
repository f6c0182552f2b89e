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
            let requested = try await server.requests(atLeast: server.requests.count + 2)
            #expect(requested.allSatisfy { $0.method == "GET" && $0.target == "/events" })
            #expect(requested.last?.headers["if-none-match"] == "\"v1\"")
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

            // When the server is back, the daemon requests the settings with the ETag of the copy.
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

    @Test("S1: requests have the configured headers, including a token from a file, which no answer shows")
    func token() async throws {
        try await withScene { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(settings(3, tag: "\"v1\""))
            let file = scene.directory.path("token")
            try "s3cret-token\n".write(toFile: file, atomically: true, encoding: .utf8)
            let headers: JSON = [
                "Authorization": ["file": .string(file), "prefix": "Bearer "], "X-Host": "till-7",
            ]
            let remote: JSON = ["url": .string(server.endpoint), "refresh_s": 1, "headers": headers]
            let daemon = try await scene.daemon([
                "dispatchers": ["collect": collector.dispatcher(["dispatch_limit": 9])], "remote": remote,
            ])
            try await limit(of: daemon, becomes: 3)
            let requested = try await server.requests(atLeast: 1)[0]
            #expect(
                requested.headers["authorization"] == "Bearer s3cret-token" && requested.headers["x-host"] == "till-7")
            #expect(try await !daemon.ask("config.get").description.contains("s3cret"))
        }
    }

    @Test(
        "X6: remote settings that grant rights, or move the daemon, are refused as a whole and reported",
        arguments: [
            #"{"access":{"control":{"uids":[45001]}},"dispatchers":{"collect":{"dispatch_limit":3}}}"#,
            #"{"durability":"memory","dispatchers":{"collect":{"dispatch_limit":3}}}"#,
            #"{"store":{"kind":"sqlite"},"dispatchers":{"collect":{"dispatch_limit":3}}}"#,
            #"{"remote":{"url":"http://127.0.0.1:1/"},"dispatchers":{"collect":{"dispatch_limit":3}}}"#,
        ])
    func local(body: String) async throws {
        try await withScene(waitsLong: true) { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(ScriptedAnswer(headers: ["ETag: \"v1\""], body: body))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await eventually("the refusal in the log") { daemon.log.contains("must not be in the remote settings") }
            #expect(try await limit(of: daemon) == 9)
            let settings = try await daemon.ask("config.get")
            #expect(settings["access"]["control"]["uids"] == [] && settings["durability"] == "full")
        }
    }

    @Test("S1: an answer of 20 MB is abandoned, is reported, and leaves the settings as they are")
    func huge() async throws {
        try await withScene(waitsLong: true) { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            let body = #"{"x":""# + String(repeating: "y", count: 20 << 20) + #""}"#
            server.answerAlways(ScriptedAnswer(body: body))
            let daemon = try await scene.daemon(configuration(collector, server))
            try await eventually("the fault in the log") { daemon.log.contains("answer too long") }
            #expect(try await limit(of: daemon) == 9)
        }
    }

    @Test("S1: a server that does not answer delays neither the start, nor events, nor changes of the settings")
    func hanging() async throws {
        try await withScene(waitsLong: true) { scene in
            let (collector, server) = (try scene.collector(), try scene.collector())
            server.answerAlways(.held)
            let daemon = try await scene.daemon(configuration(collector, server))
            try await server.requests(atLeast: 1)
            let ids = try await daemon.track(1...3)
            #expect(try await collector.acceptedIDs(atLeast: 3) == ids)
            _ = try await daemon.ask("config.set", ["patch": layer(5)])
            #expect(try await limit(of: daemon) == 5)
            // The daemon aborts the request, logs that, and repeats the request.
            try await eventually("the fault in the log", within: .seconds(120)) { daemon.log.contains("timed out") }
            try await server.requests(atLeast: 2)
            #expect(try await daemon.stop() == 0)
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

    private func limit(of daemon: Daemon, becomes expected: Int) async throws {
        try await eventually("a dispatch_limit of \(expected)") { try await limit(of: daemon) == expected }
    }
}
