import Foundation

/// A program that runs with its output in files, so that no pipe can ever fill up.
final class ChildProcess {
    private let process = Process()
    let outputPath: String
    let errorPath: String

    /// Starts the program. Nothing of the test's own environment reaches it but `PATH`.
    init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:], input: String? = nil,
        outputPath: String, errorPath: String
    ) throws {
        self.outputPath = outputPath
        self.errorPath = errorPath
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin"]) { own, _ in own }
        process.standardInput = try Self.inputFile(input)
        process.standardOutput = try Self.appendable(outputPath)
        process.standardError = try Self.appendable(errorPath)
        try Self.withAllSignals { try process.run() }
    }

    /// A child inherits its maker's signal mask, and the threads that tests run on block nearly all signals.
    private static func withAllSignals(_ start: () throws -> Void) rethrows {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try start()
    }

    var isRunning: Bool { process.isRunning }
    var processIdentifier: Int32 { process.processIdentifier }

    /// Sends a signal, unless the process is gone.
    func signal(_ number: Int32) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, number)
    }

    /// Waits for the end. Killed by a signal: its number, negated.
    func exitCode() async throws -> Int32 {
        try await eventually("the end of \(process.executableURL?.lastPathComponent ?? "a program")") {
            !process.isRunning
        }
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// Ends it at once and waits, without suspending, until it is gone.
    func discard() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var output: String { Self.text(of: outputPath) }
    var errorOutput: String { Self.text(of: errorPath) }

    private static func text(of path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    private static func inputFile(_ text: String?) throws -> FileHandle {
        guard let text else { return .nullDevice }
        // Unlinked at once: the descriptor is all that is needed.
        var template = Array("\(FileManager.default.temporaryDirectory.path)/hg-input-XXXXXX".utf8CString)
        let descriptor = try SystemError.check(mkstemp(&template), "mkstemp")
        unlink(template)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(text.utf8))
        try handle.seek(toOffset: 0)
        return handle
    }

    private static func appendable(_ path: String) throws -> FileHandle {
        let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC
        let descriptor = try SystemError.check(open(path, flags, 0o600), "open \(path)")
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
