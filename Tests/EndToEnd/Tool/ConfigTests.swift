import Foundation
import Testing

/// `headgate config` with a real daemon.
@Suite struct ConfigTests {
    private static let size = "barriers.BatchingBarrier.configuration.batch_size"

    @Test("S1: config set changes the settings in force, until null or, without persist, a restart")
    func set() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: FlushTests.batching)
            let before = try await batchSize(daemon)
            #expect(try await CommandLineTool.run("config", "set", "\(Self.size)=7", on: daemon).exitCode == 0)
            #expect(try await batchSize(daemon) == 7)
            #expect(try await CommandLineTool.run("config", "set", "\(Self.size)=null", on: daemon).exitCode == 0)
            #expect(try await batchSize(daemon) == before)
            let words = ["config", "set", "\(Self.size)=8", "--persist", "--json", "--socket", daemon.socketPath]
            let run = try await CommandLineTool.run(words, in: daemon.folder)
            #expect(try run.json == [:])
            #expect(try await CommandLineTool.run("config", "set", "\(Self.size)=9", on: daemon).exitCode == 0)
            #expect(try await daemon.stop() == 0)
            try await daemon.start()
            #expect(try await batchSize(daemon) == 8)
        }
    }

    @Test("S2: several settings change together or not at all, every error is reported, and the exit code is 1")
    func refused() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector(), top: FlushTests.batching)
            let before = try await batchSize(daemon)
            let run = try await CommandLineTool.run(
                "config", "set", "\(Self.size)=7", #"dispatchers.collect.dispatch_limit="many""#,
                #"durability="maybe""#, on: daemon)
            #expect(run.exitCode == 1)
            #expect(run.errorOutput.contains("headgate: dispatchers.collect.dispatch_limit: "))
            #expect(run.errorOutput.contains("headgate: durability: "))
            #expect(try await batchSize(daemon) == before)
        }
    }

    @Test("Exit code 2 for a value that is not JSON, with advice on quoting")
    func notJSON() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let run = try await CommandLineTool.run("config", "set", "durability=normal", on: daemon)
            #expect(run.exitCode == 2)
            #expect(run.errorOutput.contains(#"'durability="normal"'"#), "\(run.errorOutput)")
        }
    }

    @Test(
        "S3: config reload reports the changes, and an invalid file has no effect, reports its errors and exits with 1")
    func reload() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            #expect(try await CommandLineTool.run("config", "reload", on: daemon).output == "Nothing has changed.\n")
            try daemon.configure(["dispatchers": ["collect": collector.dispatcher(["dispatch_limit": 3])]])
            let run = try await CommandLineTool.run("config", "reload", on: daemon)
            #expect(run.exitCode == 0)
            #expect(run.output == "changed: dispatchers.collect.dispatch_limit\n")
            try daemon.configure(["dispatchers": ["collect": ["kind": "http"]]])
            let refused = try await CommandLineTool.run("config", "reload", on: daemon)
            #expect(refused.exitCode == 1)
            #expect(refused.errorOutput.contains("headgate: dispatchers.collect.endpoint: "))
            #expect(try await daemon.ask("config.get")["dispatchers"]["collect"]["dispatch_limit"] == 3)
        }
    }

    @Test("S2: config check reports the errors of a file without a daemon, and exits with 1 if there are any")
    func check() async throws {
        try await withScene { scene in
            let good = try scene.directory.write(#"{"dispatchers": {}} // fine"#, to: "good.json")
            let fine = try await CommandLineTool.run(["config", "check", good], in: scene.directory.path)
            #expect(fine.exitCode == 0, "\(fine.errorOutput)")
            #expect(fine.output == "the configuration is valid\n")
            let bad = try scene.directory.write(#"{"dispatchers": {"a": {"kind": "http"}}}"#, to: "bad.json")
            let faulty = try await CommandLineTool.run(["config", "check", bad], in: scene.directory.path)
            #expect(faulty.exitCode == 1)
            #expect(faulty.errorOutput.contains("dispatchers.a.endpoint: "))
            let absent = try await CommandLineTool.run(["config", "check", bad + ".no"], in: scene.directory.path)
            #expect(absent.exitCode == 1)
            #expect(absent.errorOutput.contains("bad.json.no"))
        }
    }

    @Test(
        "--help explains each subcommand",
        arguments: ["watch", "config", "config set", "config reload", "config check"])
    func help(command: String) async throws {
        try await withScene { scene in
            let words = command.split(separator: " ").map(String.init) + ["--help"]
            let run = try await CommandLineTool.run(words, in: scene.directory.path)
            #expect(run.exitCode == 0)
            #expect(run.output.contains("usage: headgate \(command)"))
        }
    }

    private func batchSize(_ daemon: Daemon) async throws -> Int? {
        try await daemon.barrier("BatchingBarrier")["configuration"]["batch_size"].int
    }
}
