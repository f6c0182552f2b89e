import HeadgateClientTesting
import HeadgateWire
import Synchronization
import Testing

@testable import HeadgateCommands

/// Tests `headgate watch` for programs with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5))) struct WatchLinesTests {
    @Test("Each notification is a line with its params as they came, also after a restart; a later refusal is printed")
    func lines() async throws {
        try await withDaemon { daemon in
            await daemon.answer("watch", with: ["watch": "w"])
            let hasReader = Mutex(true)
            async let run = ToolRun.run(
                ["watch", "clients", "barriers", "clients"], on: daemon, readers: { hasReader.withLock { $0 } })
            await daemon.wait { $0.requests.count == 1 }
            #expect(await daemon.record.requests[0].params == ["topics": ["clients", "barriers"]])
            await daemon.sendToAll(
                #"{"jsonrpc":"2.0","method":"changed","params":{"watch":"w","n":1.50,"s":"\u00e9"}}"#)
            await daemon.sendToAll(#"{"jsonrpc":"2.0","id":"there?","method":"ask"}"#)
            // The answer to this request comes after the notification has been read.
            await daemon.wait { $0.answers.count == 1 }
            await daemon.kill()
            await daemon.follow { _ in .refuse(RPCError(.unauthorized, "not you")) }
            try await daemon.start()
            await daemon.wait { $0.requests.count == 2 }
            hasReader.withLock { $0 = false }
            let result = try await run
            #expect(result.output == "{\"watch\":\"w\",\"n\":1.50,\"s\":\"\\u00e9\"}\n")
            #expect(
                result.errors == """
                    headgate: connection lost; reconnecting
                    headgate: the watch was refused on the new connection, and is requested again: not you

                    """)
            #expect(result.exitCode == .success)
        }
    }

    @Test("A watch that the daemon refuses at once ends, with exit code 1")
    func refused() async throws {
        try await withDaemon { daemon in
            await daemon.follow { _ in .refuse(RPCError(.unauthorized, "not you")) }
            let run = try await ToolRun.run(["watch"], on: daemon)
            #expect(run.exitCode == .failure && run.errors == "headgate: not you\n" && run.output.isEmpty)
        }
    }

    @Test("The command ends when the reader of its output is gone, even without a change")
    func noReader() async throws {
        try await withDaemon { daemon in
            await daemon.answer("watch", with: ["watch": "w"])
            let run = try await ToolRun.run(["watch"], on: daemon, readers: { false })
            #expect(run.exitCode == .success)
            #expect(run.output.isEmpty && run.errors.isEmpty)
        }
    }
}
