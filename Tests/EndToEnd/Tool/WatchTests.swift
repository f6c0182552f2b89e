import Foundation
import Testing

/// `headgate watch` with a real daemon.
@Suite struct WatchTests {
    @Test("B10: watch --json prints the state and then the changes, one JSON object per line")
    func lines() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let watch = try watch("dispatchers", "outcomes", "--json", on: daemon)
            _ = try await line(of: watch) { $0["topic"] == "outcomes" }
            let first = try await line(of: watch) { $0["topic"] == "dispatchers" }
            #expect(first["dispatchers"][0].contains(["id": "collect", "state": "open", "sent": 0]))
            try await daemon.pause()
            let closed = try await line(of: watch) { $0["dispatchers"][0]["state"] == "blocked" }
            #expect(closed["dispatchers"][0]["blocked_by"] == ["ManualBarrier:collect"])
            try await daemon.track(1...3)
            try await daemon.resume()
            _ = try await line(of: watch) { $0["dispatchers"][0]["sent"] == 3 }
            // Outcomes are reported less often than the states of dispatchers.
            try await eventually("the outcomes of all three") {
                try lines(of: watch).compactMap { $0["outcomes"][0]["delivered"].int }.reduce(0, +) == 3
            }
            let unnamed = try lines(of: watch).filter { $0["watch"].string == nil }
            #expect(unnamed.isEmpty)
        }
    }

    @Test("A watch survives the daemon: it reports that it waits, and starts again with the state")
    func restart() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let watch = try watch("dispatchers", on: daemon)
            _ = try await line(of: watch) { $0["topic"] == "dispatchers" }
            try await daemon.killNow()
            try await eventually("the report of the lost connection") { watch.errorOutput.contains("reconnecting") }
            let reported = try lines(of: watch).count
            try await daemon.start()
            try await eventually("a new report of the state") { try lines(of: watch).count > reported }
            #expect(try lines(of: watch)[reported]["dispatchers"][0]["id"] == "collect")
            #expect(watch.isRunning)
        }
    }

    @Test("On a terminal watch shows a screen, and an interrupt restores the terminal")
    func screen() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(sendingTo: scene.collector())
            try await daemon.pause("collect", ["reason": "stock-taking"])
            let terminal = try PseudoTerminal()
            let process = try ChildProcess(
                BuiltProducts.path(of: "headgate"), ["watch", "--socket", daemon.socketPath],
                environment: ["TERM": "xterm", "HOME": daemon.folder], outputPath: terminal.path,
                errorPath: daemon.folder + "/watch.err")
            try await eventually("the screen") { terminal.text.contains("q or Ctrl-C: quit") }
            try await eventually("the reason of the barrier") { terminal.text.contains("stock-taking") }
            #expect(terminal.text.hasPrefix("\u{1B}[?1049h"))
            process.signal(SIGINT)
            #expect(try await process.exitCode() == 0)
            #expect(terminal.text.hasSuffix("\u{1B}[?1049l"))
            #expect(process.errorOutput.isEmpty)
        }
    }

    @Test("Exit codes: 2 for an unknown topic, 3 without a daemon")
    func exitCodes() async throws {
        try await withScene { scene in
            let daemon = scene.idleDaemon()
            let unknown = try await CommandLineTool.run("watch", "weather", on: daemon)
            #expect(unknown.exitCode == 2)
            let alone = try await CommandLineTool.run("watch", on: daemon)
            #expect(alone.exitCode == 3)
        }
    }

    private func watch(_ arguments: String..., on daemon: Daemon) throws -> ChildProcess {
        try ChildProcess(
            BuiltProducts.path(of: "headgate"), ["watch"] + arguments + ["--socket", daemon.socketPath],
            environment: ["HOME": daemon.folder], outputPath: daemon.folder + "/watch.out",
            errorPath: daemon.folder + "/watch.err")
    }

    /// Returns the complete lines of the output.
    private func lines(of watch: ChildProcess) throws -> [JSON] {
        let text = watch.output
        guard let end = text.lastIndex(of: "\n") else { return [] }
        return try text[..<end].split(separator: "\n").map { try JSON(parsing: String($0)) }
    }

    private func line(of watch: ChildProcess, where isAwaited: (JSON) -> Bool) async throws -> JSON {
        do {
            return try await eventually("a line of watch") { try lines(of: watch).first(where: isAwaited) }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: watch.output + watch.errorOutput)
        }
    }
}
