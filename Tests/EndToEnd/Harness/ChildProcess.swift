import Foundation

/// A program that runs with its output in files, so that no pipe can ever fill up.
final class ChildProcess {
    let name: String
    let outputPath: String
    let errorPath: String
    let processIdentifier: pid_t
    /// As `waitpid` tells it; nil while the process runs.
    private var status: Int32?

    /// Starts the program. Nothing of the test's own environment reaches it but a plain `PATH`, and no descriptors but 0, 1
    /// and 2, and 3 where something is `inherited`.
    init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        inherited: Int32? = nil, outputPath: String, errorPath: String
    ) throws {
        name = executable.split(separator: "/").last.map(String.init) ?? executable
        self.outputPath = outputPath
        self.errorPath = errorPath
        let inputPath = try input.map { try Self.keep($0, beside: outputPath) } ?? "/dev/null"
        let variables = environment.merging(["PATH": "/usr/bin:/bin"]) { own, _ in own }.map { "\($0)=\($1)" }
        let settings = try SpawnSettings(
            input: inputPath, output: outputPath, error: errorPath, inherited: inherited)
        processIdentifier = try settings.spawn(executable, [executable] + arguments, variables)
    }

    deinit { discard() }

    var isRunning: Bool {
        guard status == nil else { return false }
        var told: Int32 = 0
        guard waitpid(processIdentifier, &told, WNOHANG) == processIdentifier else { return true }
        status = told
        return false
    }

    /// Sends a signal, unless the process is gone.
    func signal(_ number: Int32) {
        guard isRunning else { return }
        kill(processIdentifier, number)
    }

    /// Waits for the end. Killed by a signal: its number, negated.
    func exitCode() async throws -> Int32 {
        try await eventually("the end of \(name)") { !isRunning }
        let status = status ?? 0
        let killedBy = status & 0x7f
        return killedBy == 0 ? status >> 8 & 0xff : -killedBy
    }

    /// Ends it at once, and waits until it is gone.
    func discard() {
        guard isRunning else { return }
        kill(processIdentifier, SIGKILL)
        var told: Int32 = 0
        waitpid(processIdentifier, &told, 0)
        status = told
    }

    var output: String { Self.text(of: outputPath) }
    var errorOutput: String { Self.text(of: errorPath) }

    private static func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    private static func keep(_ input: String, beside path: String) throws -> String {
        try input.write(toFile: path + ".in", atomically: true, encoding: .utf8)
        return path + ".in"
    }
}
