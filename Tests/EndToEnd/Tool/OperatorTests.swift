import Testing

/// Operator commands of `headgate`.
@Suite struct OperatorTests {
    @Test("pause and resume block and open a dispatcher, with a reason in barriers, dispatchers and status")
    func pauseAndResume() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            #expect(try await CommandLineTool.run("pause", "collect", on: daemon).exitCode == 0)
            #expect(try await daemon.dispatcher()["state"] == "blocked")
            for command in ["barriers", "dispatchers", "status"] {
                for run in [
                    try await CommandLineTool.run(command, on: daemon),
                    try await CommandLineTool.run(command, "--json", on: daemon),
                ] {
                    #expect(run.exitCode == 0)
                    #expect(run.output.contains("ManualBarrier:collect"), "\(command): \(run.output)")
                    let isReported = run.output.contains("closed") || run.output.contains("blocked")
                    #expect(isReported, "\(command): \(run.output)")
                }
            }
            #expect(try await CommandLineTool.run("resume", "collect", on: daemon).exitCode == 0)
            #expect(try await daemon.dispatcher()["state"] == "open")
        }
    }

    @Test("status --json is the result of the method")
    func statusJSON() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause()
            try await daemon.track(1...2)
            let status = try await CommandLineTool.run("status", "--json", on: daemon).json
            #expect(status["store"]["events"] == 2)
            #expect(status["counters"]["received"] == 2)
            #expect(status["dispatchers"][0]["pending"] == 2)
        }
    }

    @Test("flush --wait ends when everything is delivered")
    func flush() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector, top: FlushTests.batching)
            let ids = try await daemon.track(1...3)
            let run = try await CommandLineTool.run("flush", "--wait", on: daemon)
            #expect(run.exitCode == 0, "\(run.errorOutput)")
            #expect(collector.acceptedIDs == ids)
            let json = try await CommandLineTool.run("flush", "--wait", "--json", on: daemon).json
            #expect(json["ended"] == "settled")
            #expect(json["dispatchers"]["collect"]["left"] == 0)
        }
    }

    @Test("--socket may precede the command, and $HEADGATE_SOCKET replaces it")
    func socketBeforeTheCommand() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let before = ["--socket", daemon.socketPath, "status"]
            #expect(try await CommandLineTool.run(before, in: daemon.folder).exitCode == 0)
            let variable = ["HEADGATE_SOCKET": daemon.socketPath]
            #expect(try await CommandLineTool.run(["status"], in: daemon.folder, environment: variable).exitCode == 0)
        }
    }

    @Test("Exit code 1 if the service refuses")
    func refused() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let run = try await CommandLineTool.run("pause", "nowhere", on: daemon)
            #expect(run.exitCode == 1)
            #expect(run.errorOutput.contains("nowhere"))
        }
    }

    @Test(
        "Exit code 2 for wrong usage",
        arguments: [
            [], ["dance"], ["pause"], ["resume"], ["send"], ["status", "--colour"], ["--socket"],
            ["flush", "--wait", "--colour"],
        ])
    func usage(arguments: [String]) async throws {
        try await withScene { scene in
            let run = try await CommandLineTool.run(arguments, in: scene.directory.path)
            #expect(run.exitCode == 2)
            #expect(!run.errorOutput.isEmpty)
        }
    }

    @Test(
        "Exit code 3 without an answer",
        arguments: ["status", "send x", "barriers", "dispatchers", "flush", "pause collect"])
    func cannotConnect(command: String) async throws {
        try await withScene { scene in
            let arguments =
                command.split(separator: " ").map(String.init) + ["--socket", scene.directory.path("no.sock")]
            let run = try await CommandLineTool.run(arguments, in: scene.directory.path)
            #expect(run.exitCode == 3)
            #expect(run.errorOutput.contains("no.sock"))
        }
    }

    @Test(
        "--help exits with 0 everywhere",
        arguments: [
            "", "send", "status", "flush", "barriers", "dispatchers", "pause", "resume",
        ])
    func help(command: String) async throws {
        try await withScene { scene in
            let arguments = command.isEmpty ? ["--help"] : [command, "--help"]
            let run = try await CommandLineTool.run(arguments, in: scene.directory.path)
            #expect(run.exitCode == 0)
            #expect(run.output.contains("headgate"))
            #expect(command.isEmpty || run.output.contains(command))
        }
    }
}
