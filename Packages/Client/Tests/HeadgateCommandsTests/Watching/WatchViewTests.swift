import Foundation
import HeadgateClientTesting
import HeadgateData
import HeadgateSeeds
import HeadgateWire
import Testing

@testable import HeadgateCommands

/// Tests `headgate watch` on a terminal with a daemon on a real socket.
@Suite(.timeLimit(.minutes(5)), .serialized) struct WatchViewTests {
    @Test("The screen shows changes, says when the daemon is away and back, and q restores the terminal")
    func life() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(rows: 20, columns: 100)
            let before = terminal.localModes
            await daemon.answer("watch", with: ["watch": "w"])
            async let code = run(["watch"], on: terminal, daemon)
            #expect(await seen(terminal, "q or Ctrl-C: quit").contains(ScreenPainter.enter))
            #expect(terminal.localModes & tcflag_t(ICANON | ECHO) == 0)
            await daemon.sendToAll(change)
            #expect(await seen(terminal, "blocked       12").contains("DISPATCHER"))
            await daemon.kill()
            _ = await seen(terminal, "connection lost")
            try await daemon.start()
            _ = await seen(terminal, "connected")
            terminal.press("xq")
            _ = await seen(terminal, ScreenPainter.leave)
            #expect(await code == .success)
            #expect(terminal.localModes == before)
            #expect(terminal.isBlocking)
        }
    }

    @Test("A resized window is redrawn")
    func resized() async throws {
        try await withDaemon { daemon in
            let terminal = try PseudoTerminal(rows: 10, columns: 100)
            await daemon.answer("watch", with: ["watch": "w"])
            async let code = run(["watch", "barriers"], on: terminal, daemon)
            _ = await seen(terminal, "No dispatcher is blocked.")
            terminal.resize(rows: 10, columns: 12)
            kill(getpid(), SIGWINCH)
            _ = await seen(terminal, "No dispatch…")
            terminal.press("Q")
            _ = await seen(terminal, ScreenPainter.leave)
            #expect(await code == .success)
        }
    }

    @Test("If the daemon refuses the watch or is absent, the command ends and restores the terminal")
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
                let line = ScreenTerminal(keys: terminal.slave, output: terminal.slave)
                let ends = Terminal(
                    input: terminal.slave, showsProgress: false, style: Fixed.style, screen: line, output: { _ in },
                    errors: { _ in })
                continuation.resume(returning: CommandLineTool.run(words + ["--socket", daemon.path], on: ends))
            }
        }
    }

    /// Returns the terminal's output up to a text, read on a thread of its own.
    private func seen(_ terminal: PseudoTerminal, _ expected: String) async -> String {
        let text = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: terminal.read(until: expected)) }
        }
        #expect(text.contains(expected))
        return text
    }
}

@Suite struct ScreenPainterTests {
    @Test("Only changed lines are written")
    func differences() {
        var painter = ScreenPainter()
        #expect(painter.text(for: ["a", "b"]) == "\u{1B}[H\u{1B}[J\u{1B}[1;1H\u{1B}[2Ka\u{1B}[2;1H\u{1B}[2Kb")
        #expect(painter.text(for: ["a", "b"]) == "")
        #expect(painter.text(for: ["a", "c"]) == "\u{1B}[2;1H\u{1B}[2Kc")
        #expect(painter.text(for: ["a"]) == "\u{1B}[2;1H\u{1B}[J")
        painter.forget()
        #expect(painter.text(for: ["a"]) == "\u{1B}[H\u{1B}[J\u{1B}[1;1H\u{1B}[2Ka")
    }

    @Test("After each update the terminal shows exactly the new lines", arguments: Seeds.first(30))
    func onATerminal(seed: Seed) {
        var painter = ScreenPainter()
        var terminal = TinyTerminal()
        var random = SeededRandom(seed: seed)
        func dice(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
        for _ in 1...50 {
            let lines = (0..<dice(8)).map { _ in
                String(repeating: "abc".randomElement(using: &random) ?? "a", count: dice(5))
            }
            if dice(10) == 0 { painter.forget() }
            terminal.write(painter.text(for: lines))
            #expect(terminal.shown == lines + Array(repeating: "", count: 8 - lines.count))
        }
    }
}

/// A terminal of eight rows that understands only the painter's output.
private struct TinyTerminal {
    private(set) var shown = Array(repeating: "", count: 8)
    private var row = 0

    mutating func write(_ text: String) {
        for part in text.split(separator: "\u{1B}[") {
            guard let end = part.firstIndex(where: \.isLetter) else { continue }
            obey(String(part[...end]))
            shown[row] += part[part.index(after: end)...]
        }
    }

    private mutating func obey(_ command: String) {
        switch command {
        case "H": row = 0
        case "J": for line in row..<8 { shown[line] = "" }
        case "2K": shown[row] = ""
        default: row = min(7, (Int(command.prefix { $0 != ";" }) ?? 1) - 1)
        }
    }
}
