import Foundation

/// A program whose output goes to files, so that no pipe can fill up.
final class ChildProcess {
    let name: String
    let outputPath: String
    let errorPath: String
    let processIdentifier: pid_t
    /// The status from `waitpid`, or nil while the process runs.
    private var status: Int32?

    /// Starts the program. From the test's environment it gets only a plain `PATH` and the sanitizer options. It gets
    /// descriptors 0, 1 and 2, and `inherited` as descriptor 3.
    init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        inherited: Int32? = nil, outputPath: String, errorPath: String
    ) throws {
        name = executable.split(separator: "/").last.map(String.init) ?? executable
        self.outputPath = outputPath
        self.errorPath = errorPath
        let inputPath = try input.map { try Self.keep($0, beside: outputPath) } ?? "/dev/null"
        let defaults = Self.forSanitizers.merging(["PATH": "/usr/bin:/bin"]) { $1 }
        let variables = environment.merging(defaults) { own, _ in own }.map { "\($0)=\($1)" }
        let settings = try SpawnSettings(
            input: inputPath, output: outputPath, error: errorPath, inherited: inherited)
        processIdentifier = try settings.spawn(executable, [executable] + arguments, variables)
    }

    /// Options that `Tools/sanitize` sets for instrumented programs.
    private static let forSanitizers = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }

    deinit { discard() }

    var isRunning: Bool {
        guard status == nil else { return false }
        var reported: Int32 = 0
        guard waitpid(processIdentifier, &reported, WNOHANG) == processIdentifier else { return true }
        status = reported
        return false
    }

    /// Sends a signal if the process still runs.
    func signal(_ number: Int32) {
        guard isRunning else { return }
        kill(processIdentifier, number)
    }

    /// Waits for the end, and returns the exit code, or the negated number of the signal that killed the process.
    func exitCode() async throws -> Int32 {
        try await eventually("the end of \(name)") { !isRunning }
        let status = status ?? 0
        let killedBy = status & 0x7f
        return killedBy == 0 ? status >> 8 & 0xff : -killedBy
    }

    /// Kills the process, and waits until it is gone.
    func discard() {
        guard isRunning else { return }
        kill(processIdentifier, SIGKILL)
        var reported: Int32 = 0
        waitpid(processIdentifier, &reported, 0)
        status = reported
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

/// Settings of a child process: its three descriptors and possibly one more, default signal handling, and no blocked
/// signal.
///
/// `Foundation.Process` is not used: its child inherits the signal mask of the calling thread, and the threads that run
/// tests block nearly all signals.
private final class SpawnSettings {
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()

    /// - Parameter inherited: The descriptor that becomes descriptor 3 of the child.
    init(input: String, output: String, error: String, inherited: Int32? = nil) throws {
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        let append = O_WRONLY | O_CREAT | O_APPEND
        try check(posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0), "open \(input)")
        try check(posix_spawn_file_actions_addopen(&actions, 1, output, append, 0o600), "open \(output)")
        try check(posix_spawn_file_actions_addopen(&actions, 2, error, append, 0o600), "open \(error)")
        // The harness closes its own descriptors on exec. Other tests in this process may have descriptors that stay
        // open.
        if let inherited { try check(posix_spawn_file_actions_adddup2(&actions, inherited, 3), "hand over") }
        for other in Int32(inherited == nil ? 3 : 4)..<4_096 { posix_spawn_file_actions_addclose(&actions, other) }
        try setSignals()
    }

    deinit {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }

    /// Starts the program and returns its process identifier.
    func spawn(_ executable: String, _ arguments: [String], _ environment: [String]) throws -> pid_t {
        let words = arguments.map { strdup($0) }
        let variables = environment.map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        var process = pid_t()
        let code = posix_spawn(&process, executable, &actions, &attributes, words + [nil], variables + [nil])
        try check(code, "start \(executable)")
        return process
    }

    private func setSignals() throws {
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        try check(posix_spawnattr_setsigmask(&attributes, &none), "setsigmask")
        try check(posix_spawnattr_setsigdefault(&attributes, &all), "setsigdefault")
        let flags = Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        try check(posix_spawnattr_setflags(&attributes, flags), "setflags")
    }

    private func check(_ code: Int32, _ call: String) throws {
        guard code == 0 else { throw SystemError(call, code: code) }
    }
}

/// The location of the executables under test: `$HEADGATE_BIN_DIR`, or the folder of the test runner.
enum BuiltProducts {
    /// Returns the path of the product with the given name.
    static func path(of product: String) throws -> String {
        for directory in directories {
            let candidate = directory + "/" + product
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        throw NeverHappened("a built \(product)", details: "looked in \(directories.joined(separator: ", "))")
    }

    private static let directories: [String] = {
        let given = ProcessInfo.processInfo.environment["HEADGATE_BIN_DIR"]
        let runners = [
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), CommandLine.arguments.first,
        ]
        return [given].compactMap { $0 } + runners.compactMap { $0 }.flatMap(ancestors)
    }()

    /// Returns the folder of a file and the two folders above it, since a test bundle may be a folder.
    private static func ancestors(of path: String) -> [String] {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let above = folder.deletingLastPathComponent()
        return [folder, above, above.deletingLastPathComponent()].map(\.path)
    }
}
