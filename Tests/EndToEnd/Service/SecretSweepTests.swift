import Foundation
import Testing

/// X4: secrets from every source, and a search for them in everything that users and programs can read.
@Suite struct SecretSweepTests {
    /// The prefix of every secret.
    private static let mark = "s3cret"

    @Test("X4: secrets from every source, repeated in the server's refusal, appear nowhere")
    func sweep() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let refusing = ScriptedAnswer(status: 400, body: Self.echo)
            collector.answerAlways(refusing)
            let daemon = try Self.daemon(in: scene, collector)
            try await daemon.start()
            let watcher = try await daemon.connect()
            _ = try await watcher.watch("dispatchers", "barriers", "outcomes", "clients")
            try await daemon.track(1...3)
            try await daemon.dispatcher(until: "dead letters") { $0["dead"].int == 3 }
            // Another event gets a temporary error, so that `last_error` stays set.
            collector.answerAlways(ScriptedAnswer(status: 503, body: Self.echo))
            try await daemon.track(4...4)
            try await daemon.dispatcher(until: "an error") { $0["last_error"] != .null && $0["pending"].int == 1 }
            try await daemon.dispatcher("secure", until: "an error") { $0["last_error"] != .null }

            let sent = try #require(collector.requests.first { $0.method == "POST" }).headers
            #expect(sent["x-api-key"] == "s3cret-file")
            #expect(sent["x-token"] == "Bearer s3cret-env")
            #expect(sent["authorization"] == "Basic \(Self.basic)")

            try await Self.expectNothing(in: daemon, watcher)
            #expect(try await daemon.stop() == 0)
            Self.expectClean(daemon.log, "the log")
            for name in try FileManager.default.contentsOfDirectory(atPath: daemon.dataPath) {
                // The cached copy of the remote settings contains their secrets. Only the daemon's user can read it.
                guard !name.hasPrefix("remote-settings") else { continue }
                let bytes = FileManager.default.contents(atPath: daemon.dataPath + "/" + name) ?? Data()
                Self.expectClean(String(decoding: bytes, as: UTF8.self), name)
            }
        }
    }

    @Test("X4: secrets in rejected settings are not quoted")
    func refusedSettings() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let patches: [JSON] = [
                ["dispatchers": ["collect": ["endpoint": "ftp://user:s3cret@host/"]]],
                ["dispatchers": ["collect": ["endpoint": "http://user:s3cret@:99999/"]]],
                ["dispatchers": ["collect": ["headers": ["X-Key": ["file": 7], "Authorization": "s3cret\n"]]]],
                ["dispatchers": ["collect": ["headers": "s3cret"]]], ["remote": ["url": "http://u:s3cret@/"]],
                ["network": ["probe": ["url": "http://u:s3cret@ host/"]]],
            ]
            for patch in patches {
                let faults = try await daemon.faults("config.set", ["patch": patch])
                Self.expectClean("\(faults)", "\(patch)")
                try daemon.configure(patch.merging(["dispatchers": patch["dispatchers"]]))
                Self.expectClean("\(try await daemon.faults("config.reload"))", "\(patch)")
            }
            daemon.process?.signal(SIGHUP)
            try await eventually("a line in the log") { daemon.log.contains("settings are refused") }
            Self.expectClean(daemon.log, "the log")
        }
    }

    // MARK: The secrets

    /// The secret `user:s3cret-url`, encoded as in a header.
    private static let basic = Data("user:s3cret-url".utf8).base64EncodedString()
    private static let echo = "refused: s3cret-file Bearer s3cret-env s3cret-url user:s3cret-url \(basic) s3cret-text"

    private static func daemon(in scene: Scene, _ collector: Collector) throws -> Daemon {
        let daemon = scene.idleDaemon()
        daemon.environment = ["SHOP_TOKEN": "Bearer s3cret-env"]
        let file = try scene.directory.write("s3cret-file\n", to: "key")
        let authority = "user:s3cret-url@127.0.0.1:\(collector.port)"
        let headers: JSON = [
            "X-Api-Key": ["file": .string(file)], "X-Token": ["env": "SHOP_TOKEN"], "X-Secret": "s3cret-text",
        ]
        let key = try scene.directory.write("-----BEGIN PRIVATE KEY-----\ns3cret-key\n", to: "tls.key")
        let secure: JSON = [
            "kind": "http", "endpoint": .string("https://\(authority)/"), "backoff": ["base_ms": 20, "cap_ms": 100],
            "tls": ["cert_file": .string(key), "key_file": .string(key)],
        ]
        try daemon.configure([
            "dispatchers": [
                "collect": collector.dispatcher([
                    "endpoint": .string("http://\(authority)/events"), "headers": headers,
                ]),
                "secure": secure,
            ],
            "remote": ["url": .string("http://\(authority)/settings"), "refresh_s": 1],
            "network": ["probe": ["url": .string("http://\(authority)/probe"), "interval_ms": 1_000]],
        ])
        return daemon
    }

    // MARK: The search

    private static func expectNothing(in daemon: Daemon, _ watcher: LineClient) async throws {
        for method in ["status", "config.get", "dispatcher.list", "barrier.list", "rpc.discover", "dead_letters.list"] {
            let client = try await daemon.connect()
            let answer = try await client.answer(to: client.request(method))
            expectClean("\(answer)", method)
        }
        for layer in ["file", "remote", "programmatic"] {
            expectClean("\(try await daemon.ask("config.get", ["layer": .string(layer)]))", "the layer \(layer)")
        }
        // The notifications up to now: the ping is answered after them.
        let ping = try await watcher.request("ping")
        _ = try await watcher.answer(to: ping)
        for _ in 1...4 { expectClean("\(try await watcher.message())", "watch") }
    }

    private static func expectClean(_ text: String, _ authority: String) {
        let found = text.range(of: mark) ?? text.range(of: basic)
        #expect(found == nil, "\(authority): \(text)")
    }
}
