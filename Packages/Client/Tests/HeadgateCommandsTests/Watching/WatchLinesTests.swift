import HeadgateClientTesting
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// Tests `headgate watch` for programs with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5))) struct WatchLinesTests {
    @Test(
        "Each notification is a line with its params as they came, also after a restart; a refusal ends it",
        .disabled("a watch that is refused after a reconnection is requested again, and does not end"))
    func lines() async throws {
        try await withDaemon { daemon in
            await daemon.answer("watch", with: ["watch": "w"])
            async let run = ToolRun.run(["watch", "clients", "barriers", "clients"], on: daemon)
            await daemon.wait { $0.requests.count == 1 }
            #expect(await daemon.record.requests[0].params == ["topics": ["clients", "barriers"]])
            await daemon.tellAll(#"{"jsonrpc":"2.0","method":"changed","params":{"watch":"w","n":1.50,"s":"\u00e9"}}"#)
            await daemon.tellAll(#"{"jsonrpc":"2.0","id":"there?","method":"ask"}"#)
            // The answer to this request comes after the notification has been read.
            await daemon.wait { $0.answers.count == 1 }
            await daemon.kill()
            await daemon.follow { _ in .refuse(RPCError(.unauthorized, "not you")) }
            try await daemon.start()
            let result = try await run
            #expect(result.output == "{\"watch\":\"w\",\"n\":1.50,\"s\":\"\\u00e9\"}\n")
            #expect(
                result.errors == """
                    headgate: the connection is lost: waiting for the daemon
                    headgate: not you

                    """)
            #expect(result.exitCode == .failure)
        }
    }

    @Test("It ends when nobody reads any more, though nothing happens")
    func nobodyReads() async throws {
        try await withDaemon { daemon in
            await daemon.answer("watch", with: ["watch": "w"])
            let run = try await ToolRun.run(["watch"], on: daemon, hasReaders: false)
            #expect(run.exitCode == .success)
            #expect(run.output.isEmpty && run.errors.isEmpty)
        }
    }
}
