import Testing

/// X4: secrets go where they belong and nowhere else.
@Suite struct SecretTests {
    @Test("X4: secrets reach the collector, and neither config.get, status, the lists nor the log")
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

            for method in ["config.get", "status", "dispatcher.list", "barrier.list"] {
                let answer = try await daemon.ask(method).description
                #expect(!answer.contains("s3cret"), "\(method): \(answer)")
            }
            #expect(try await daemon.stop() == 0)
            #expect(!daemon.log.contains("s3cret"))
        }
    }

    @Test("config.get gives the settings in force")
    func settingsInForce() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, ["dispatch_limit": 7])
            let settings = try await daemon.ask("config.get")
            #expect(settings["dispatchers"]["collect"].contains(["kind": "http", "dispatch_limit": 7]))
            #expect(settings["dispatchers"]["collect"]["endpoint"].string == collector.endpoint)
        }
    }

    @Test("A header whose secret is not there is a fault of the configuration", arguments: ["file", "env"])
    func missingSecret(source: String) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let headers: JSON = ["X-Api-Key": .object([source: .string(scene.directory.path("nothing"))])]
            try daemon.configure(["dispatchers": ["collect": scene.collector().dispatcher(["headers": headers])]])
            #expect(try await daemon.run() > 0)
            #expect(daemon.log.contains("dispatchers.collect.headers.X-Api-Key"))
        }
    }
}
