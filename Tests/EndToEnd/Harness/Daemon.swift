import Foundation

/// A real `headgated` process in a folder of its own. It can be killed and started again on the same data.
final class Daemon {
    let folder: String
    var socketPath: String
    var dataPath: String
    let configurationPath: String
    let logPath: String
    /// The program that serves; another one embeds the same server.
    var program = "headgated"
    /// Where the program is, when not among the built products.
    var executable: String?
    /// Environment of the process besides `PATH` and `HOME`.
    var environment: [String: String] = [:]
    /// A command that starts the process in surroundings of its own, such as `/bin/ip netns exec NAME`.
    var launcher: [String] = []
    /// A descriptor of the harness's that the process has as its descriptor 3.
    var inherited: Int32?
    private(set) var process: ChildProcess?

    init(folder: String) {
        self.folder = folder
        socketPath = folder + "/run/headgate.sock"
        dataPath = folder + "/data"
        configurationPath = folder + "/headgate.json"
        logPath = folder + "/headgated.log"
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// Writes the configuration; it counts from the next start on.
    func configure(_ configuration: JSON) throws {
        try configuration.description.write(toFile: configurationPath, atomically: true, encoding: .utf8)
    }

    /// Starts the process and waits until it says that it is ready.
    func start(arguments: [String]? = nil) async throws {
        let said = log.utf8.count
        let process = try launch(arguments: arguments)
        self.process = process
        try await eventually("the line `\(program) ready`") {
            guard process.isRunning else { throw NeverHappened("a ready daemon", details: log) }
            return log.utf8.dropFirst(said).split(separator: UInt8(ascii: "\n")).contains { line in
                String(Substring(line)).contains("\(program) ready")
            }
        }
    }

    /// Starts the process and does not wait for anything.
    func launch(arguments: [String]? = nil) throws -> ChildProcess {
        let command = try launcher + [executable ?? BuiltProducts.path(of: program)] + (arguments ?? usualArguments)
        return try ChildProcess(
            command[0], Array(command.dropFirst()),
            environment: environment.merging(["HOME": folder]) { own, _ in own }, inherited: inherited,
            outputPath: logPath, errorPath: logPath)
    }

    /// Runs the process to its end and gives back its exit code: for those that are not meant to stay.
    func run(arguments: [String]? = nil) async throws -> Int32 {
        try await launch(arguments: arguments).exitCode()
    }

    /// `--config`, `--socket` and `--data` of this folder.
    var usualArguments: [String] {
        ["--config", configurationPath, "--socket", socketPath, "--data", dataPath]
    }

    /// All that the daemon wrote so far, over all its lives.
    var log: String {
        String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
    }

    /// Kills it without a chance to do anything, and waits until it is gone.
    func killNow() async throws {
        process?.signal(SIGKILL)
        _ = try await process?.exitCode()
    }

    /// Asks for an orderly stop and waits for it.
    func stop() async throws -> Int32 {
        process?.signal(SIGTERM)
        guard let process else { throw NeverHappened("a stop", details: "it was never started") }
        return try await process.exitCode()
    }

    func discard() {
        process?.discard()
    }
}
