import Foundation

/// The result of a run of the `headgate` tool.
struct CommandLineTool {
    let exitCode: Int32
    let output: String
    let errorOutput: String

    /// The standard output, parsed as one JSON text.
    var json: JSON {
        get throws { try JSON(parsing: output) }
    }

    /// Runs `headgate` with the arguments and waits until it exits.
    static func run(_ arguments: String..., on daemon: Daemon, input: String? = nil) async throws -> CommandLineTool {
        try await run(arguments + ["--socket", daemon.socketPath], in: daemon.folder, input: input)
    }

    /// Runs `headgate` with only these arguments.
    static func run(
        _ arguments: [String], in folder: String, input: String? = nil, environment: [String: String] = [:]
    ) async throws -> CommandLineTool {
        let name = folder + "/" + UUID().uuidString
        let process = try ChildProcess(
            BuiltProducts.path(of: "headgate"), arguments,
            environment: environment.merging(["HOME": folder]) { own, _ in own }, input: input,
            outputPath: name + ".out", errorPath: name + ".err")
        let code = try await process.exitCode()
        return CommandLineTool(exitCode: code, output: process.output, errorOutput: process.errorOutput)
    }
}

extension CommandLineTool {
    /// Runs another program by its path, and waits until it exits, which it must do successfully.
    @discardableResult
    static func run(program: String, _ arguments: [String], in folder: String) async throws -> CommandLineTool {
        let name = folder + "/" + UUID().uuidString
        let process = try ChildProcess(program, arguments, outputPath: name + ".out", errorPath: name + ".err")
        let run = CommandLineTool(
            exitCode: try await process.exitCode(), output: process.output, errorOutput: process.errorOutput)
        guard run.exitCode == 0 else {
            throw NeverHappened("exit code 0 of \(program) \(arguments)", details: run.errorOutput)
        }
        return run
    }
}
