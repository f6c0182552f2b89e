import Testing

/// X4: secrets go only where they are needed.
@Suite struct SecretTests {
    @Test("X4: secrets reach the collector, and appear neither in config.get, status and lists nor in the log")
    func secretsStaySecret() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            collector.answerNext(ScriptedAnswer(status: 503, body: "no: s3cret-from-file, s3cret-from-env"))
            let keyPath = try scene.directory.write("s3cret-from-file\n", to: "key")
            let daemon = scene.idleDaemon()
            daemon.environment = ["SHOP_TOKEN": "s3cret-from-env"]
            let endpoint = "http://user:s3cret-in-url@127.0.0.1:\(collector.port)/events"
            let headers: JSON = ["X-Api-Key": ["file": .string(keyPath)], "X-Token": ["env": "SHOP_TOKEN"]]
            try daemon.configure([
                "dispatchers": ["collect": collector.dispatcher(["endpoint": .string(endpoint), "headers": headers])]
            ])
            try await daemon.start()
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
            let received = collector.accepted[0].headers
            #expect(received["x-api-key"] == "s3cret-from-file")
            #expect(received["x-token"] == "s3cret-from-env")
            // user:s3cret-in-url
            #expect(received["authorization"] == "Basic dXNlcjpzM2NyZXQtaW4tdXJs")

            try await daemon.stop(havingHidden: "s3cret")
        }
    }

    @Test("config.get returns the settings in force")
    func settingsInForce() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 7])
            let settings = try await daemon.ask("config.get")
            #expect(settings["dispatchers"]["collect"].contains(["kind": "http", "dispatch_limit": 7]))
            #expect(settings["dispatchers"]["collect"]["endpoint"].string == collector.endpoint)
        }
    }

    @Test("A missing secret blocks the events and is named, and they are sent once it exists")
    func missingSecret() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let headers: JSON = ["X-Api-Key": ["file": .string(scene.directory.path("key"))]]
            let daemon = try await scene.daemon(sendingTo: collector, ["headers": headers])
            try await daemon.track(1...2)
            let waiting = try await daemon.dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
            #expect(waiting["last_error"].string?.contains("X-Api-Key") == true)
            #expect(collector.requests.isEmpty)
            try scene.directory.write("s3cret", to: "key")
            #expect(try await collector.acceptedIDs(atLeast: 2) == ["e1", "e2"])
        }
    }
}
