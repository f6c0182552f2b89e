import Foundation
import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Settings that change while the service runs", .timeLimit(.minutes(5)))
struct SettingsChangeTests {
    /// Rewrites the configuration file with these settings, merged into ``ServiceStage/defaultSettings``.
    private func rewrite(_ stage: ServiceStage, _ settings: DataObject) throws {
        var text = JSONWriter()
        text.object(ServiceStage.defaultSettings.patched(with: settings))
        _ = try stage.folder.write(text.text, to: "headgate.json")
    }

    @Test("S3: a reload reports its changes, and adds, removes and changes dispatchers without losing events")
    func reload() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "one"])
            #expect(try await stage.lines(of: "collect", after: client).count == 1)
            try rewrite(
                stage,
                [
                    "dispatchers": [
                        "archive": .null, "collect": ["dispatch_limit": 1],
                        "late": ["kind": "file", "path": "late.ndjson"],
                    ]
                ])
            let changed = try await client.call("config.reload")["changed"]
            #expect(changed == ["dispatchers.archive", "dispatchers.collect.dispatch_limit", "dispatchers.late"])
            try await client.call("track", ["event": "two"])
            #expect(try await stage.events(of: "collect", after: client).map { $0["event"] } == ["one", "two"])
            #expect(try await stage.events(of: "late", after: client).map { $0["event"] } == ["two"])
            #expect(try await client.refusal("dispatcher.pause", ["id": "archive"]).reason == "not_found")
        }
    }

    @Test("S2: a reload of a file with faults changes nothing, and reports every fault with its path")
    func faultyReload() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try rewrite(
                stage,
                [
                    "dispatchers": ["collect": ["kind": "pigeon"], "late": ["kind": "file", "path": "l"]],
                    "store": ["max_events": 0],
                ])
            let refusal = try await client.refusal("config.reload")
            #expect(refusal.reason == "invalid_settings")
            #expect(
                refusal.message.contains("store.max_events") || refusal.message.contains("dispatchers.collect.kind"))
            let dispatchers = try await client.call("dispatcher.list")["dispatchers"].elements
            #expect(dispatchers.map { $0["id"] } == ["archive", "collect"])
        }
    }

    @Test("S1: settings of config.set override the file's, survive a reload, and are removed by null")
    func programmaticLayer() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("config.set", ["patch": ["dispatchers": ["collect": ["dispatch_limit": 7]]]])
            try await client.call("config.reload")
            let inForce = try await client.call("config.get")
            #expect(inForce["dispatchers"]["collect"]["dispatch_limit"] == 7)
            #expect(inForce["dispatchers"]["collect"]["path"] == "collect.ndjson")
            let layer = try await client.call("config.get", ["layer": "programmatic"])
            #expect(layer == ["dispatchers": ["collect": ["dispatch_limit": 7]]])
            try await client.call("config.set", ["patch": ["dispatchers": .null]])
            #expect(try await client.call("config.get", ["layer": "programmatic"]) == [:])
        }
    }

    @Test("S2: a config.set with a fault changes nothing")
    func faultyPatch() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let refusal = try await client.refusal("config.set", ["patch": ["limits": ["max_depth": 7]]])
            #expect(refusal.reason == "invalid_settings")
            #expect(try await client.call("config.get", ["layer": "programmatic"]) == [:])
            #expect(try await client.refusal("config.set", ["patch": []]).path == "patch")
        }
    }

    @Test("B7: a barrier gets its changed configuration, and the defaults when its entry is removed")
    func barriers() async throws {
        let batching: DataObject = ["scopes": ["collect"], "configuration": ["batch_size": 5]]
        try await ServiceStage.run(["barriers": ["BatchingBarrier": .object(batching)]]) { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "one"])
            #expect(try await client.listedDispatcher("collect")["blocked_by"] == ["BatchingBarrier"])
            let smaller: DataObject = ["barriers": ["BatchingBarrier": ["configuration": ["batch_size": 1]]]]
            try await client.call("config.set", ["patch": .object(smaller)])
            #expect(try await client.listedBarrier("BatchingBarrier")["configuration"] == ["batch_size": 1])
            #expect(try await stage.lines(of: "collect", after: client).count == 1)
            try await client.call("config.set", ["patch": ["barriers": .null]])
            try rewrite(stage, [:])
            try await client.call("config.reload")
            let barrier = try await client.listedBarrier("BatchingBarrier")
            #expect(barrier["configuration"] == [:])
            #expect(barrier["scopes"] == ["collect"])
        }
    }

    @Test("B29: settings cannot take the id of a barrier that a client has registered")
    func takenId() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("barrier.register", ["id": "night", "state": "open"])
            let night: DataObject = ["kind": "IntervalBarrier", "configuration": ["interval_ms": 1000, "open_ms": 10]]
            let refusal = try await client.refusal("config.set", ["patch": ["barriers": ["night": .object(night)]]])
            #expect(refusal.reason == "invalid_settings")
            #expect(try await client.listedBarrier("night")["kind"] == "RemoteBarrier")
            try await client.call("barrier.unregister", ["id": "night"])
            try await client.call("config.set", ["patch": ["barriers": ["night": .object(night)]]])
            #expect(try await client.listedBarrier("night")["kind"] == "IntervalBarrier")
        }
    }

    @Test("A changed setting that takes effect at the next start causes a warning")
    func startOnly() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("config.set", ["patch": ["durability": "full"], "persist": true])
            let warnings = try await client.call("status")["warnings"]
            #expect(warnings.elements.contains("durability: takes effect at the next start"))
        }
    }

    @Test(
        "S2: a setting that takes effect at the next start is shown with its present value until then"
    )
    func waiting() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let different: DataObject = ["durability": "normal", "store": ["kind": "sqlite"]]
            try await client.call("config.set", ["patch": .object(different), "persist": true])
            // Another change does not remove the warning.
            try await client.call("config.set", ["patch": ["shutdown_timeout_ms": 1]])
            try await client.call("config.reload")
            let status = try await client.call("status")
            let waiting = ["durability: takes effect at the next start", "store.kind: takes effect at the next start"]
            #expect(status["warnings"].elements == waiting.map { .string($0) })
            #expect(status["store"]["durability"] == "memory")
            let shown = try await client.call("config.get")
            #expect(shown["durability"] == "memory" && shown["store"]["kind"] == "log")
            #expect(try await client.call("config.get", ["layer": "programmatic"])["durability"] == "normal")
            let metrics = try await client.call("metrics")["metrics"].elements
            let info = metrics.first { $0["name"] == "headgate_store_info" }
            #expect(info?["samples"].elements.first?["labels"]["durability"] == "memory")
            let number = metrics.first { $0["name"] == "headgate_settings_waiting" }
            #expect(number?["samples"].elements.first?["value"] == 2)
            // When the values are those in force again, no setting waits for the next start.
            let former: DataObject = ["durability": "memory", "store": ["kind": "log"]]
            try await client.call("config.set", ["patch": .object(former), "persist": true])
            #expect(try await client.call("status")["warnings"] == [])
        }
    }

    @Test(
        "S2: config.set without `persist` refuses settings that take effect only at a start",
        arguments: [
            ["durability": "full"], ["store": ["kind": "sqlite"]], ["socket": "/run/other.sock"],
            ["data_dir": "/var/lib/other"],
        ] as [DataObject])
    func refusedWithoutPersist(patch: DataObject) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let both = patch.patched(with: ["shutdown_timeout_ms": 1])
            let refusal = try await client.refusal("config.set", ["patch": .object(both)])
            #expect(refusal.reason == "invalid_settings" && refusal.message.contains("takes effect only at a start"))
            #expect(try await client.call("config.get", ["layer": "programmatic"]) == [:])
            #expect(try await client.call("status")["warnings"] == [])
            // A patch with the value in force is accepted, because it changes nothing.
            try await client.call("config.set", ["patch": ["durability": "memory"]])
        }
    }

    @Test("S1: config.set with `persist` refuses settings that cannot be persisted", arguments: ["socket", "data_dir"])
    func refusedPersist(key: String) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let refusal = try await client.refusal("config.set", ["patch": [key: "/x"], "persist": true])
            #expect(refusal.reason == "invalid_settings" && refusal.message.contains("cannot be persisted"))
            #expect(try await client.call("config.get", ["layer": "programmatic"]) == [:])
        }
    }

    @Test("S2: a name that appears twice in a patch is refused")
    func doubledName() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let patch = #"{"patch":{"limits":{},"limits":{}}}"#
            await client.send(#"{"jsonrpc":"2.0","id":900,"method":"config.set","params":\#(patch)}"#)
            let answer = try await client.message(to: 900)
            #expect(answer["error"]["message"].get(as: String.self)?.contains("has `limits` twice") == true)
        }
    }

    @Test("S2: with a limit at its minimum config.set still works and can remove the limit", arguments: leastLimits)
    func floors(key: String, least: Int, refused: Int) async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let patch = { (value: DataItem) -> DataObject in ["patch": ["limits": .object(DataObject([(key, value)]))]]
            }
            let below = try await client.refusal("config.set", patch(.number(DataNumber(refused))))
            #expect(below.reason == "invalid_settings")
            try await client.call("config.set", patch(.number(DataNumber(least))))
            #expect(try await client.call("config.get")["limits"][key] == .number(DataNumber(least)))
            try await client.call("config.set", patch(.null))
            #expect(try await client.call("config.get", ["layer": "programmatic"])["limits"] == [:])
        }
    }

    /// Limits with their minimum and a value below it.
    static let leastLimits = [
        ("max_line_bytes", 1024, 1023), ("max_depth", 8, 7), ("max_connections", 1, 0),
        ("max_connections_per_uid", 1, 0),
        ("max_unanswered", 1, 0), ("max_unanswered_bytes", 1, 0), ("max_output_bytes", 1, 0),
        ("slow_reader_timeout_ms", 1, 0),
    ]

    @Test("P2: collectors that settings switch off add nothing to later events")
    func collectors() async throws {
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            try await client.call("track", ["event": "one"])
            let off: DataObject = ["peer": false, "host": false, "network": false, "client": false]
            try await client.call("config.set", ["patch": ["collectors": .object(off)]])
            try await client.call("track", ["event": "two"])
            let events = try await stage.events(of: "collect", after: client)
            #expect(events[0]["context"]["uid"] == .number(DataNumber(Int(getuid()))))
            #expect(events[1]["context"] == [:])
        }
    }

    @Test(
        "S1: remote settings are fetched from their URL, and copied to disk with their ETag"
    )
    func remoteLayer() async throws {
        let server = try ScriptedServer { request in
            request.headers["if-none-match"] == "\"v1\""
                ? .status("304 Not Modified")
                : .status(
                    "200 OK", headers: ["ETag: \"v1\""], body: #"{"dispatchers": {"collect": {"dispatch_limit": 3}}}"#)
        }
        defer { server.stop() }
        try await ServiceStage.run(["remote": ["url": .string(server.url), "refresh_s": 1]]) { stage in
            let client = try await stage.client()
            while try await client.call("config.get", ["layer": "remote"]) == [:] { await Task.yield() }
            #expect(try await client.call("config.get")["dispatchers"]["collect"]["dispatch_limit"] == 3)
            let copy = RemoteSettingsCopy(directory: stage.folder("data"))
            #expect(copy.read(url: server.url)?.tag == "\"v1\"")
            #expect(copy.read(url: "http://elsewhere/") == nil)
        }
    }

    @Test("S1, S3: without `remote` in the settings there is no remote layer, as after a restart")
    func remoteRemoved() async throws {
        let server = try ScriptedServer { _ in
            .status("200 OK", body: #"{"dispatchers": {"collect": {"dispatch_limit": 3}}}"#)
        }
        defer { server.stop() }
        try await ServiceStage.run { stage in
            let client = try await stage.client()
            let before = try await client.call("config.get")
            try await client.call("config.set", ["patch": ["remote": ["url": .string(server.url)]]])
            while try await client.call("config.get", ["layer": "remote"]) == [:] { await Task.yield() }
            #expect(try await client.call("config.get")["dispatchers"]["collect"]["dispatch_limit"] == 3)
            try await client.call("config.set", ["patch": ["remote": .null]])
            #expect(try await client.call("config.get", ["layer": "remote"]) == [:])
            #expect(try await client.call("config.get") == before)
        }
    }
}

@Suite("The size of the programmatic layer", .timeLimit(.minutes(5)))
struct ProgrammaticLimitTests {
    @Test(
        "X2: the total size of settings by config.set is bounded; a refused patch changes nothing, a removal makes room"
    )
    func bounded() async throws {
        try await ServiceStage.run(["lenient": true]) { stage in
            let client = try await stage.client()
            let text = DataItem.string(String(repeating: "x", count: 1_000_000))
            for number in 1...4 { try await client.call("config.set", ["patch": ["note\(number)": text]]) }
            let refusal = try await client.refusal("config.set", ["patch": ["note5": text]])
            #expect(refusal.reason == "invalid_settings")
            #expect(refusal.message.contains("at most 4194304 bytes"))
            let layer = try await client.call("config.get", ["layer": "programmatic"])
            #expect(layer["note4"] == text && layer["note5"] == .null)
            try await client.call("config.set", ["patch": ["note1": .null, "note5": text]])
        }
    }
}
