import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// The commands against a daemon on a real socket.
@Suite(.timeLimit(.minutes(1))) struct CommandTests {
    @Test(
        "Every command asks what it is for",
        arguments: [
            (
                ["pause", "collect", "--reason", "why", "--flushable"], "dispatcher.pause",
                ["id": "collect", "reason": "why", "flushable": true]
            ),
            (["resume", "collect"], "dispatcher.resume", ["id": "collect"]),
            (["flush"], "flush", [:]),
            (["flush", "a", "b", "--timeout", "1.5"], "flush", ["dispatchers": ["a", "b"], "timeout_ms": 1_500]),
            (["config", "get"], "config.get", [:]),
            (["config", "get", "--layer", "file"], "config.get", ["layer": "file"]),
            (["config", "reload"], "config.reload", [:]),
            (
                ["config", "set", "a.b=1", #"a.c="x""#, "d=null"], "config.set",
                ["patch": ["a": ["b": 1, "c": "x"], "d": nil], "persist": false]
            ),
            (["config", "set", "a=[]", "--persist"], "config.set", ["patch": ["a": []], "persist": true]),
            (["status"], "status", [:]),
        ] as [([String], String, DataObject)])
    func questions(words: [String], method: String, params: DataObject) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(!run.output.isEmpty)
            let record = await daemon.record
            #expect(record.requests.map(\.method) == [method])
            #expect(record.requests.first?.params == params)
            #expect(record.greetings.first?["client"] == ["name": "headgate", "version": "0.1.0"])
        }
    }

    @Test(
        "--json prints the daemon's answer as it came", arguments: ["status", "config get", "barriers", "dispatchers"])
    func json(command: String) async throws {
        try await withDaemon { daemon in
            for method in ["status", "config.get", "barrier.list", "dispatcher.list"] {
                await daemon.answer(method, with: ["method": .string(method), "number": 3])
            }
            let words = command.split(separator: " ").map(String.init) + ["--json"]
            let run = try await ToolRun.run(words, on: daemon)
            let methods = [
                "status": "status", "config get": "config.get", "barriers": "barrier.list",
                "dispatchers": "dispatcher.list",
            ]
            #expect(run.output == "{\"method\":\"\(methods[command] ?? "")\",\"number\":3}\n")
        }
    }

    @Test(
        "flush --wait: exit 0 when all is settled, else 1",
        arguments: [
            ("settled", ExitCode.success), ("timeout", .failure), ("cancelled", .failure),
        ])
    func flush(ended: String, code: ExitCode) async throws {
        try await withDaemon { daemon in
            await daemon.answer("flush", with: ["flush": "f", "ended": .string(ended), "dispatchers": [:]])
            let run = try await ToolRun.run(["flush", "--wait"], on: daemon)
            #expect(run.exitCode == code)
        }
    }

    @Test("Exit code 1: the daemon refuses, and says why")
    func refused() async throws {
        let refusal = RPCError(.notFound, "there is no dispatcher nowhere")
        try await withDaemon { _ in
            .refuse(refusal)
        } _: { daemon in
            let run = try await ToolRun.run(["pause", "nowhere"], on: daemon)
            #expect(run.exitCode == .failure)
            #expect(run.errors == "headgate: there is no dispatcher nowhere\n")
            #expect(run.output.isEmpty)
        }
    }

    @Test(
        "Exit code 2: wrong usage, which is told without asking the daemon",
        arguments: [
            ["send"], ["send", "x", "plan"], ["send", "x", "--stdin"], ["flush", "--timeout", "soon"], ["dance"],
            ["config", "set", "a"], ["config", "set", "a=b"], ["config", "set"], ["watch", "weather"],
        ])
    func usage(words: [String]) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .usage)
            #expect(run.errors.contains("--help"))
            #expect(await daemon.record.connections == 0)
        }
    }

    @Test(
        "Exit code 3: nobody is there, and the path is told",
        arguments: [
            ["status"], ["send", "x"], ["send", "--stdin"], ["barriers"], ["watch"],
        ])
    func cannotConnect(words: [String]) async throws {
        try await withDaemon(listening: false) { daemon in
            let run = try await ToolRun.run(words, on: daemon, input: "{\"event\":\"x\"}\n")
            #expect(run.exitCode == .cannotConnect)
            #expect(run.errors.contains("cannot connect to \(daemon.path): there is no such socket"))
        }
    }
}
