import Foundation

/// A real `headgate-console` process at a port chosen by the system.
final class ConsoleProcess {
    let folder: String
    let daemon: Daemon
    private(set) var process: ChildProcess?
    /// The port that it serves, and the token that it reported.
    private(set) var port: UInt16 = 0
    private(set) var token = ""
    private var starts = 0

    init(folder: String, showing daemon: Daemon) {
        self.folder = folder
        self.daemon = daemon
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { process?.discard() }

    /// The path of the token file.
    var tokenPath: String { folder + "/token" }
    /// The error output since the last start.
    var log: String { process?.errorOutput ?? "" }
    /// The host and port as they appear in `Host` and `Origin`.
    var authority: String { "127.0.0.1:\(port)" }

    /// Starts the console and waits until it reports that it is ready.
    func start(_ arguments: String...) async throws {
        let process = try launch(["--listen", "127.0.0.1:0"] + arguments)
        self.process = process
        let line = /headgate-console ready http:\/\/127\.0\.0\.1:([0-9]+)\/\?token=(\S+)\n/
        let reported = try await eventually("the line `headgate-console ready`") {
            guard process.isRunning else { throw NeverHappened("a console", details: process.errorOutput) }
            return process.errorOutput.firstMatch(of: line)?.output
        }
        port = UInt16(reported.1) ?? 0
        token = String(reported.2)
    }

    /// Starts the console without waiting.
    func launch(_ arguments: [String]) throws -> ChildProcess {
        starts += 1
        let log = folder + "/console\(starts)"
        return try ChildProcess(
            BuiltProducts.path(of: "headgate-console"), ["--socket", daemon.socketPath] + arguments,
            environment: ["HOME": folder], outputPath: log + ".out", errorPath: log + ".err")
    }

    /// Sends one GET request on a new connection, with the token unless `headers` replace it.
    func get(_ target: String, _ headers: [String: String] = [:]) async throws -> ConsoleAnswer {
        try await ask("GET", target, ["Authorization": "Bearer \(token)"].merging(headers) { $1 })
    }

    /// Posts a form as a page of the console does.
    func post(_ target: String, _ form: String = "", _ headers: [String: String] = [:]) async throws -> ConsoleAnswer {
        let defaults = [
            "Authorization": "Bearer \(token)", "Origin": "http://\(authority)",
            "Content-Type": "application/x-www-form-urlencoded",
        ]
        return try await ask("POST", target, defaults.merging(headers) { $1 }, body: form)
    }

    /// Sends one request with only the given headers. A header with an empty value is not sent.
    func ask(
        _ method: String, _ target: String, _ headers: [String: String] = [:], body: String = ""
    ) async throws -> ConsoleAnswer {
        let connection = try await ConsoleConnection(port: port)
        defer { connection.close() }
        try await connection.send(method, target, ["Host": authority].merging(headers) { $1 }, body: body)
        return try ConsoleAnswer(await connection.everything())
    }

    /// Opens the stream of a page's updates.
    func news(of page: String) async throws -> ConsoleConnection {
        let connection = try await ConsoleConnection(port: port)
        try await connection.send(
            "GET", "/live?page=\(page)", ["Host": authority, "Authorization": "Bearer \(token)"])
        return connection
    }
}

extension Scene {
    /// Creates a console for a daemon, without starting it.
    func console(showing daemon: Daemon) -> ConsoleProcess {
        keep(ConsoleProcess(folder: directory.path("console"), showing: daemon))
    }
}

/// An answer of the console.
struct ConsoleAnswer {
    let status: Int
    let body: String
    private let head: String

    init(_ text: String) throws {
        let parts = text.components(separatedBy: "\r\n\r\n")
        guard let status = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }), parts.count > 1 else {
            throw NeverHappened("an answer", details: text)
        }
        self.status = status
        head = parts[0]
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
    }

    /// Returns the value of a header, or nil if the answer has no such header.
    func header(_ name: String) -> String? {
        let line = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        return line.map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
    }
}
