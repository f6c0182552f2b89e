import Foundation

extension CommandLineTool {
    /// Runs another program, by its path, and waits for its end, which must be a good one.
    @discardableResult
    static func run(program: String, _ arguments: [String], in folder: String) async throws -> CommandLineTool {
        let name = folder + "/" + UUID().uuidString
        let process = try ChildProcess(program, arguments, outputPath: name + ".out", errorPath: name + ".err")
        let run = CommandLineTool(
            exitCode: try await process.exitCode(), output: process.output, errorOutput: process.errorOutput)
        guard run.exitCode == 0 else {
            throw NeverHappened("a good end of \(program) \(arguments)", details: run.errorOutput)
        }
        return run
    }
}
