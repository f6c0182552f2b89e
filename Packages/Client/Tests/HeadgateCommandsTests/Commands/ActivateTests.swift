import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateCommands

@Suite(.timeLimit(.minutes(5))) struct ActivateTests {
    @Test(
        "The command sends the board with the given options",
        arguments: [
            (["activate", "login"], ["board": "login"]),
            (
                [
                    "activate", "login", "--input", #"{"user":"a"}"#, "--mainboard", "shop", "--wait", "0",
                    "--timeout=5000",
                ],
                ["board": "login", "mainboard": "shop", "wait_ms": 0, "timeout_ms": 5000, "input": ["user": "a"]]
            ),
        ] as [([String], DataObject)])
    func params(words: [String], params: DataObject) async throws {
        try await withDaemon { daemon in
            await daemon.answer("board.activate", with: ["done": true])
            let run = try await ToolRun.run(words, on: daemon)
            #expect(run.exitCode == .success, "\(run.errors)")
            #expect(run.output.isEmpty)
            let requests = await daemon.record.requests
            #expect(requests.map(\.method) == ["board.activate"] && requests.first?.params == params)
        }
    }

    @Test(
        "The command prints the board's output; exit 0 when it is done, else 1",
        arguments: [
            (["done": true, "output": "abc"], "abc\n", ExitCode.success),
            (["done": true, "output": ["token": "abc"]], "{\"token\":\"abc\"}\n", .success),
            (["done": true, "output": nil], "", .success),
            (["done": false, "output": "no"], "no\n", .failure),
            (["done": false], "", .failure),
        ] as [(DataObject, String, ExitCode)])
    func output(answer: DataObject, output: String, code: ExitCode) async throws {
        try await withDaemon { daemon in
            await daemon.answer("board.activate", with: answer)
            let run = try await ToolRun.run(["activate", "login"], on: daemon)
            #expect(run.output == output && run.exitCode == code)
            let json = try await ToolRun.run(["activate", "login", "--json"], on: daemon)
            #expect(json.output == DataItem.object(answer).json + "\n" && json.exitCode == code)
        }
    }

    @Test("A refusal is printed, with exit code 1")
    func refused() async throws {
        let refusal = RPCError.cancelled(barrier: "auth", cause: "timeout")
        try await withDaemon { _ in
            .refuse(refusal)
        } _: { daemon in
            let run = try await ToolRun.run(["activate", "login"], on: daemon)
            #expect(run.exitCode == .failure)
            #expect(run.errors == "headgate: cancelled by auth: timeout\n")
        }
    }

    @Test(
        "Wrong usage is reported before the daemon is asked",
        arguments: [
            ["--input", "{"], ["--wait", "-1"], ["--wait", "soon"], ["--timeout", "0"], ["--timeout", "1.5"],
        ])
    func usage(options: [String]) async throws {
        try await withDaemon { daemon in
            let run = try await ToolRun.run(["activate", "login"] + options, on: daemon)
            #expect(run.exitCode == .usage)
            #expect(run.errors.hasPrefix("headgate: activate: \(options[0]) \(options[1]) is not "))
            #expect(await daemon.record.requests.isEmpty)
        }
    }
}
