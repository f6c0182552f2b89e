import Foundation
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// `headgate watch` on a terminal, against a daemon on a real socket.
@Suite(.timeLimit(.minutes(5)), .serialized) struct WatchViewTests {
    @Test("It shows what is told, says when the daemon is away, goes on when it is back, and q gives the terminal back")
    func life() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(rows: 20, columns: 100)
            let before = terminal.localModes
            await daemon.answer("watch", with: ["watch": "w"])
            async let code = run(["watch"], on: terminal, daemon)
            #expect(await seen(terminal, "q or Ctrl-C ends").contains(ScreenPainter.enter))
            #expect(terminal.localModes & tcflag_t(ICANON | ECHO) == 0)
            await daemon.tellAll(change)
            #expect(await seen(terminal, "closed       12").contains("DISPATCHER"))
            await daemon.kill()
            _ = await seen(terminal, "the connection is lost")
            try await daemon.start()
            _ = await seen(terminal, "connected")
            terminal.press("xq")
            _ = await seen(terminal, ScreenPainter.leave)
            #expect(await code == .success)
            #expect(terminal.localModes == before)
            #expect(terminal.isBlocking)
        }
    }

    @Test("A window of another size is filled anew")
    func resized() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(rows: 10, columns: 100)
            await daemon.answer("watch", with: ["watch": "w"])
            async let code = run(["watch", "barriers"], on: terminal, daemon)
            _ = await seen(terminal, "No barrier holds anything.")
            terminal.resize(rows: 10, columns: 12)
            kill(getpid(), SIGWINCH)
            _ = await seen(terminal, "No barrier …")
            terminal.press("Q")
            _ = await seen(terminal, ScreenPainter.leave)
            #expect(await code == .success)
        }
    }

    @Test("A daemon that refuses, or is not there, ends it with the terminal as it was")
    func refused() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(rows: 10, columns: 100)
            let before = terminal.localModes
            await daemon.follow { _ in .refuse(RPCError(.unauthorized, "not you")) }
            #expect(await run(["watch"], on: terminal, daemon) == .failure)
            await daemon.kill()
            #expect(await run(["watch"], on: terminal, daemon) == .cannotConnect)
            #expect(terminal.localModes == before)
        }
    }

    private var change: String {
        let params: DataObject = ["watch": "w", "topic": "dispatchers", "dispatchers": [.object(Fixed.collect)]]
        return #"{"jsonrpc":"2.0","method":"changed","params":\#(DataItem.object(params).json)}"#
    }

    private func run(_ words: [String], on terminal: PseudoTerminal, _ daemon: ScriptedDaemon) async -> ExitCode {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let place = ScreenPlace(keys: terminal.slave, output: terminal.slave)
                let ends = Terminal(
                    input: terminal.slave, showsProgress: false, style: Fixed.style, screen: place, output: { _ in },
                    errors: { _ in })
                continuation.resume(returning: CommandLineTool.run(words + ["--socket", daemon.path], on: ends))
            }
        }
    }

    /// What the terminal got until this came, on a thread that may wait.
    private func seen(_ terminal: PseudoTerminal, _ wanted: String) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: terminal.read(until: wanted)) }
        }
    }
}
