import Foundation
import HeadgateClientTesting
import Synchronization

@testable import HeadgateCommands

/// One run of the tool in this process, with its output.
struct ToolRun: Sendable {
    let exitCode: ExitCode
    let output: String
    let errors: String

    /// Runs the tool on a thread of its own, because the tool waits for answers.
    /// - Parameters:
    ///   - input: the standard input, or nil for none.
    ///   - readers: returns true if the output has a reader.
    static func run(
        _ arguments: [String], on daemon: ScriptedDaemon, input: String? = nil,
        readers: @escaping @Sendable () -> Bool = { true }
    ) async throws -> ToolRun {
        let pipe = Pipe()
        let writer = pipe.fileHandleForWriting
        let text = input ?? ""
        Thread.detachNewThread {
            // The tool may have ended before it has read everything.
            try? writer.write(contentsOf: Data(text.utf8))
            try? writer.close()
        }
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: run(arguments + ["--socket", daemon.path], pipe, readers))
            }
        }
    }

    private static func run(_ arguments: [String], _ pipe: Pipe, _ readers: @escaping @Sendable () -> Bool) -> ToolRun {
        let written = Mutex((output: "", errors: ""))
        let terminal = Terminal(
            input: pipe.fileHandleForReading.fileDescriptor, showsProgress: false, style: Style(isColoured: false),
            output: { bytes in written.withLock { $0.output += String(decoding: bytes, as: UTF8.self) } },
            errors: { text in written.withLock { $0.errors += text } }, readers: readers)
        let code = CommandLineTool.run(arguments, on: terminal)
        let (output, errors) = written.withLock { $0 }
        return ToolRun(exitCode: code, output: output, errors: errors)
    }
}

/// Runs a test with a scripted daemon in a folder of its own.
func withDaemon(
    listening: Bool = true, script: @escaping ScriptedDaemon.Script = { _ in .answer },
    _ test: (ScriptedDaemon) async throws -> Void
) async throws {
    // Short, because a socket's path must be short.
    let directory = "/tmp/headgate-\(UUID().uuidString.prefix(13))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let daemon = try ScriptedDaemon(path: directory + "/d.sock", script: script)
    if listening { try await daemon.start() }
    try await test(daemon)
    await daemon.kill()
}
