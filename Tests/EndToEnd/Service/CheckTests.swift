import Foundation
import Testing

/// `headgated --check`, and invalid configurations.
@Suite struct CheckTests {
    @Test("S2: --check of a valid configuration exits with 0 and changes nothing")
    func goodConfiguration() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let code = try await check(
                daemon,
                """
                // A comment is allowed.
                {
                  "data_dir": "\(daemon.dataPath)", "socket": "\(daemon.socketPath)", /* and another */
                  "dispatchers": {
                    "collect": {"kind": "http", "endpoint": "http://127.0.0.1:8080/events", "dispatch_limit": 100},
                    "archive": {"kind": "file", "path": "events.ndjson"}
                  },
                  "barriers": {
                    "BatchingBarrier": {"barrier_id": "BatchingBarrier", "scopes": ["collect"],
                                        "configuration": {"batch_size": 10, "max_wait_ms": 5000}}
                  }
                }
                """)
            #expect(code == 0)
            #expect(!FileManager.default.fileExists(atPath: daemon.dataPath))
            #expect(!FileManager.default.fileExists(atPath: daemon.socketPath))
        }
    }

    @Test("K4: the configuration in Docs/Guides/NATS.md is valid")
    func documentedConfiguration() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let code = try await check(daemon, try DocumentedExample.configuration("nats", in: "Guides/NATS.md"))
            #expect(code == 0)
            #expect(!daemon.log.contains("unknown key"), "\(daemon.log)")
        }
    }

    @Test("S2: --check reports every error with its path and exits with 1")
    func everyFault() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let code = try await check(
                daemon,
                """
                {"durability": "maybe",
                 "dispatchers": {"collect": {"kind": "http"},
                                 "pigeon": {"kind": "pigeon"},
                                 "archive": {"kind": "file", "path": "x", "dispatch_limit": "many"}}}
                """)
            #expect(code == 1)
            for path in [
                "durability", "dispatchers.collect.endpoint", "dispatchers.pigeon.kind",
                "dispatchers.archive.dispatch_limit",
            ] {
                try await daemon.logs(path + ":")
            }
        }
    }

    @Test("S2: an unknown key is an error that names the closest known key, and a warning with `lenient`")
    func unknownKey() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let barrier = #""barriers": {"RateBarrier": {"configuration": {"per_sec": 5}}}"#
            let dispatchers = #""dispatchers": {"collect": {"kind": "file", "path": "x"}}"#
            let refused = try await check(daemon, "{\(dispatchers), \(barrier)}")
            #expect(refused == 1)
            #expect(
                daemon.log.contains(
                    "barriers.RateBarrier.configuration.per_sec: unknown key; the closest known key is `per_second`"))
            let lenient = #"{"lenient": true, "colour": "red", \#(dispatchers)}"#
            let accepted = try await check(daemon, lenient)
            #expect(accepted == 0)
            try await daemon.logs("colour: warning: unknown key")
        }
    }

    @Test(
        "S2, K2: --check rejects what a start rejects: colliding files, folders, duplicate names, impossible paths"
    )
    func asAStart() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let file = { (path: String) in #"{"kind": "file", "path": "\#(path)"}"# }
            for (dispatchers, problem) in [
                (
                    #"{"a": \#(file("x")), "b": \#(file("sub/../x"))}"#,
                    "dispatchers.b.path: is the file of dispatcher `a`"
                ),
                (#"{"a": \#(file("log/000001.log"))}"#, "dispatchers.a.path: is a name that the daemon itself uses"),
                (#"{"a": \#(file("/tmp"))}"#, "dispatchers.a.path: must be a file, not a directory"),
                (#"{"a": \#(file("x")), "a": \#(file("y"))}"#, "dispatchers.a: appears twice"),
            ] {
                #expect(try await check(daemon, #"{"dispatchers": \#(dispatchers)}"#) == 1)
                try await daemon.logs(problem)
                #expect(try await daemon.run() > 0)
            }
            let deep = #"{"data_dir": "/dev/null/x", "dispatchers": {"a": \#(file("/dev/null"))}}"#
            try deep.write(toFile: daemon.configurationPath, atomically: true, encoding: .utf8)
            let words = ["--config", daemon.configurationPath, "--socket", daemon.socketPath, "--check"]
            #expect(try await daemon.run(arguments: words) == 1)
            try await daemon.logs("data_dir: /dev/null/x cannot be the data directory: /dev/null is not a directory")
        }
    }

    @Test("S2: invalid JSON and a missing file are reported", arguments: ["{\"dispatchers\": ", "[]", ""])
    func notJSON(text: String) async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            #expect(try await check(daemon, text) == 1)
            try await daemon.logs(daemon.configurationPath)
            try FileManager.default.removeItem(atPath: daemon.configurationPath)
            #expect(try await daemon.run(arguments: daemon.defaultArguments + ["--check"]) == 1)
        }
    }

    @Test("S2: a daemon does not start with an invalid configuration")
    func doesNotStart() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            try daemon.configure(["dispatchers": ["collect": ["kind": "http"]]])
            #expect(try await daemon.run() > 0)
            try await daemon.logs("dispatchers.collect.endpoint")
            #expect(!daemon.log.contains("headgated ready"))
        }
    }

    @Test("B4: a scope with an unknown dispatcher is a warning, shown in status")
    func unknownScope() async throws {
        try await withScene { scene in
            let barrier: JSON = [
                "barrier_id": "BatchingBarrier", "scopes": ["nowhere"], "configuration": ["batch_size": 5],
            ]
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: ["barriers": ["BatchingBarrier": barrier]])
            let warnings = try await daemon.ask("status")["warnings"]
            #expect(warnings.description.contains("nowhere"))
            #expect(try await daemon.barrier("BatchingBarrier")["scopes"] == ["nowhere"])
            try await daemon.track(1...1)
            try await collector.acceptedIDs(atLeast: 1)
        }
    }

    @Test("An unknown option is a usage error")
    func unknownOption() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let code = try await daemon.run(arguments: ["--colour"])
            #expect(code > 0)
            try await daemon.logs("--colour")
        }
    }

    /// Checks the text as the daemon's configuration, and returns the exit code.
    private func check(_ daemon: Daemon, _ text: String) async throws -> Int32 {
        try text.write(toFile: daemon.configurationPath, atomically: true, encoding: .utf8)
        return try await daemon.run(arguments: ["--config", daemon.configurationPath, "--check"])
    }
}
