import Foundation

/// A real `headgate-console` process, at a port that the system chose.
final class ConsoleProcess {
    let folder: String
    let daemon: Daemon
    private(set) var process: ChildProcess?
    /// The port that it serves, and the token that it told.
    private(set) var port: UInt16 = 0
    private(set) var token = ""
    private var starts = 0

    init(folder: String, showing daemon: Daemon) {
        self.folder = folder
        self.daemon = daemon
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { process?.discard() }

    /// The file that `start` names as the token's.
    var tokenPath: String { folder + "/token" }
    /// What it wrote at its last start.
    var log: String { process?.errorOutput ?? "" }
    /// As it stands in `Host` and `Origin`.
    var authority: String { "127.0.0.1:\(port)" }

    /// Starts it and waits for the line that says that it serves.
    func start(_ arguments: String...) async throws {
        let process = try launch(["--listen", "127.0.0.1:0"] + arguments)
        self.process = process
        let line = /headgate-console ready http:\/\/127\.0\.0\.1:([0-9]+)\/\?token=(\S+)\n/
        let told = try await eventually("the line `headgate-console ready`") {
            guard process.isRunning else { throw NeverHappened("a console", details: process.errorOutput) }
            return process.errorOutput.firstMatch(of: line)?.output
        }
        port = UInt16(told.1) ?? 0
        token = String(told.2)
    }

    /// Starts it and waits for nothing.
    func launch(_ arguments: [String]) throws -> ChildProcess {
        starts += 1
        let log = folder + "/console\(starts)"
        return try ChildProcess(
            BuiltProducts.path(of: "headgate-console"), ["--socket", daemon.socketPath] + arguments,
            environment: ["HOME": folder], outputPath: log + ".out", errorPath: log + ".err")
    }

    /// One request on a connection of its own; with the token unless `headers` bring something else.
    func get(_ target: String, _ headers: [String: String] = [:]) async throws -> ConsoleAnswer {
        try await ask("GET", target, ["Authorization": "Bearer \(token)"].merging(headers) { $1 })
    }

    /// Posts a form, as a page of the console's own.
    func post(_ target: String, _ form: String = "", _ headers: [String: String] = [:]) async throws -> ConsoleAnswer {
        let usual = [
            "Authorization": "Bearer \(token)", "Origin": "http://\(authority)",
            "Content-Type": "application/x-www-form-urlencoded",
        ]
        return try await ask("POST", target, usual.merging(headers) { $1 }, body: form)
    }

    /// One request with just these headers. An empty one is not sent.
    func ask(
        _ method: String, _ target: String, _ headers: [String: String] = [:], body: String = ""
    ) async throws -> ConsoleAnswer {
        let connection = try await ConsoleConnection(port: port)
        defer { connection.close() }
        try await connection.send(method, target, ["Host": authority].merging(headers) { $1 }, body: body)
        return try ConsoleAnswer(await connection.everything())
    }

    /// A page's news, as they come.
    func news(of page: String) async throws -> ConsoleConnection {
        let connection = try await ConsoleConnection(port: port)
        try await connection.send(
            "GET", "/live?page=\(page)", ["Host": authority, "Authorization": "Bearer \(token)"])
        return connection
    }
}

extension Scene {
    /// A console for a daemon, not started yet.
    func console(showing daemon: Daemon) -> ConsoleProcess {
        keep(ConsoleProcess(folder: directory.path("console"), showing: daemon))
    }
}

/// What the console answered.
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

    /// A header; nil where there is none.
    func header(_ name: String) -> String? {
        let line = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
        return line.map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
    }
}
