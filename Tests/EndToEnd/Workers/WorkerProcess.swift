import Foundation

/// A running `headgate worker` whose command is a shell script.
final class WorkerProcess {
    let process: ChildProcess

    /// Starts a worker for the dispatcher `jobs`. The script finds the daemon's folder in `$HOME`.
    init(on daemon: Daemon, _ options: [String] = [], script: String) throws {
        let name = daemon.folder + "/worker-" + UUID().uuidString
        process = try ChildProcess(
            BuiltProducts.path(of: "headgate"),
            ["worker", "jobs", "--socket", daemon.socketPath] + options + ["--", "sh", "-c", script],
            environment: ["HOME": daemon.folder], outputPath: name + ".out", errorPath: name + ".err")
    }

    /// Stops the worker and returns its exit code.
    func stop() async throws -> Int32 {
        process.signal(SIGTERM)
        return try await process.exitCode()
    }
}

extension Daemon {
    /// Returns the complete lines of a file in the daemon's folder.
    func lines(of file: String) -> [String] {
        let text = String(decoding: FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data(), as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Returns the ids of the events in a file that has one event per line.
    func ids(in file: String) throws -> [String] {
        try lines(of: file).compactMap { try JSON(parsing: $0)["id"].string }
    }

    /// Creates an empty file in the daemon's folder, for a script that waits for it.
    func touch(_ file: String) {
        _ = FileManager.default.createFile(atPath: "\(folder)/\(file)", contents: nil)
    }
}

extension Scene {
    /// Starts a daemon with one dispatcher, `jobs`, of kind `worker`.
    func daemonWithWorkers(_ settings: JSON = [:], top: JSON = [:]) async throws -> Daemon {
        let jobs = JSON.object(["kind": "worker", "backoff": ["base_ms": 1, "cap_ms": 20]]).merging(settings)
        return try await daemon(top.merging(["dispatchers": ["jobs": jobs]]))
    }
}
