import Foundation
import Testing

/// A real `headgated` process with its own folder. It can be killed and started again with the same data.
final class Daemon {
    let folder: String
    var socketPath: String
    var dataPath: String
    let configurationPath: String
    let logPath: String
    /// The program to start. Another program may embed the same server.
    var program = "headgated"
    /// The path of the program, if it is not among the built products.
    var executable: String?
    /// Environment variables besides `PATH` and `HOME`.
    var environment: [String: String] = [:]
    /// A command that starts the process in another environment, such as `/bin/ip netns exec NAME`.
    var launcher: [String] = []
    /// A descriptor of the test that becomes descriptor 3 of the process.
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

    /// Writes the configuration file, which the next start reads.
    func configure(_ configuration: JSON) throws {
        try configuration.description.write(toFile: configurationPath, atomically: true, encoding: .utf8)
    }

    /// Starts the process and waits until it reports that it is ready.
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

    /// Starts the process without waiting.
    func launch(arguments: [String]? = nil) throws -> ChildProcess {
        let command = try launcher + [executable ?? BuiltProducts.path(of: program)] + (arguments ?? defaultArguments)
        return try ChildProcess(
            command[0], Array(command.dropFirst()),
            environment: environment.merging(["HOME": folder]) { own, _ in own }, inherited: inherited,
            outputPath: logPath, errorPath: logPath)
    }

    /// Runs the process until it exits and returns its exit code, for starts that are expected to fail.
    func run(arguments: [String]? = nil) async throws -> Int32 {
        try await launch(arguments: arguments).exitCode()
    }

    /// The default arguments: `--config`, `--socket` and `--data` with paths in this folder.
    var defaultArguments: [String] {
        ["--config", configurationPath, "--socket", socketPath, "--data", dataPath]
    }

    /// The log of all starts so far.
    var log: String {
        String(decoding: FileManager.default.contents(atPath: logPath) ?? Data(), as: UTF8.self)
    }

    /// Waits until the log contains some words. A thread of the daemon writes the log, so a line may come after the
    /// answer to the request that caused it.
    func logs(_ words: String) async throws {
        try await eventually("\(words) in \(log)") { log.contains(words) }
    }

    /// Kills the process with SIGKILL, and waits until it is gone.
    func killNow() async throws {
        process?.signal(SIGKILL)
        _ = try await process?.exitCode()
    }

    /// Stops the process with SIGTERM, and waits until it exits.
    func stop() async throws -> Int32 {
        process?.signal(SIGTERM)
        guard let process else { throw NeverHappened("a stop", details: "it was never started") }
        return try await process.exitCode()
    }

    func discard() {
        process?.discard()
    }
}

extension Daemon {
    /// Opens a new connection.
    func connect() async throws -> LineClient {
        try await LineClient(socketPath)
    }

    /// Makes one call on a new connection.
    func ask(_ method: String, _ params: JSON? = nil) async throws -> JSON {
        let client = try await connect()
        defer { client.close() }
        return try await client.result(method, params)
    }

    /// Returns the entry of one dispatcher in `dispatcher.list`.
    func dispatcher(_ id: String = "collect") async throws -> JSON {
        try await entry(id, in: "dispatchers", of: "dispatcher.list")
    }

    /// Returns the entry of one barrier in `barrier.list`.
    func barrier(_ id: String) async throws -> JSON {
        try await entry(id, in: "barriers", of: "barrier.list")
    }

    /// Waits until a dispatcher's entry meets a condition, and returns the entry.
    @discardableResult
    func dispatcher(
        _ id: String = "collect", until what: String, _ expected: (JSON) -> Bool
    ) async throws -> JSON {
        var last = JSON.null
        do {
            return try await eventually(what) {
                last = try await dispatcher(id)
                return expected(last) ? last : nil
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "\(id) is \(last)")
        }
    }

    /// Pauses a dispatcher.
    func pause(_ id: String = "collect", _ more: JSON = [:]) async throws {
        _ = try await ask("dispatcher.pause", more.merging(["id": .string(id)]))
    }

    func resume(_ id: String = "collect") async throws {
        _ = try await ask("dispatcher.resume", ["id": .string(id)])
    }

    /// Tracks events named `e1`, `e2`, … with their names as ids, and returns the names.
    @discardableResult
    func track(_ numbers: ClosedRange<Int>, data: JSON = [:]) async throws -> [String] {
        let client = try await connect()
        defer { client.close() }
        let names = numbers.map { "e\($0)" }
        for name in names {
            _ = try await client.result("track", ["event": .string(name), "id": .string(name), "data": data])
        }
        return names
    }

    /// Waits for a failed attempt, and checks its cause and that there is no dead letter.
    func expectFailure(_ cause: JSON, at location: SourceLocation = #_sourceLocation) async throws {
        let waiting = try await dispatcher(until: "an attempt has failed") { $0["last_error"] != .null }
        #expect(waiting.contains(["last_error": cause, "sent": 0, "dead": 0]), sourceLocation: location)
    }

    /// Stops the daemon, and checks that it never revealed a secret (Behaviour X4).
    func stop(havingHidden secret: String, at location: SourceLocation = #_sourceLocation) async throws {
        for method in ["config.get", "status", "dispatcher.list", "barrier.list", "dead_letters.list"] {
            let answer = try await ask(method).description
            #expect(!answer.contains(secret), "\(method): \(answer)", sourceLocation: location)
        }
        #expect(try await stop() == 0, sourceLocation: location)
        #expect(!log.contains(secret), sourceLocation: location)
    }

    private func entry(_ id: String, in list: String, of method: String) async throws -> JSON {
        let entries = try await ask(method)[list].elements
        guard let entry = entries.first(where: { $0["id"].string == id }) else {
            throw NeverHappened("\(id) in \(method)", details: "there are \(entries.map(\.["id"]))")
        }
        return entry
    }
}

extension Daemon {
    /// Writes the configuration and reloads it. Returns the paths that changed.
    @discardableResult
    func reload(_ configuration: JSON) async throws -> [String] {
        try configure(configuration)
        return try await ask("config.reload")["changed"].strings
    }

    /// Writes the configuration and reloads it, which must be refused. Returns the faults.
    func refusedReload(_ configuration: JSON) async throws -> [JSON] {
        try configure(configuration)
        return try await faults("config.reload")
    }

    /// Merges a patch into the programmatic layer of the settings.
    func set(_ patch: JSON, persist: Bool = false) async throws {
        _ = try await ask("config.set", ["patch": patch, "persist": .bool(persist)])
    }

    /// Returns the faults of a call that must be refused as `invalid_settings`.
    func faults(_ method: String, _ params: JSON? = nil) async throws -> [JSON] {
        let client = try await connect()
        defer { client.close() }
        let error = try await client.refusal(method, params)
        guard error["code"] == -32_000, error["data"]["reason"] == "invalid_settings" else {
            throw NeverHappened("a refusal as invalid_settings", details: "\(error)")
        }
        return error["data"]["faults"].elements
    }

    /// Returns a counter of `status`.
    func counter(_ name: String) async throws -> Int? {
        try await ask("status")["counters"][name].int
    }

    /// Returns the warnings of `status`.
    func warnings() async throws -> [String] {
        try await ask("status")["warnings"].strings
    }

    /// Waits until a barrier's entry meets a condition, and returns the entry.
    @discardableResult
    func barrier(_ id: String, until what: String, _ expected: (JSON) -> Bool) async throws -> JSON {
        var last = JSON.null
        do {
            return try await eventually(what) {
                last = try await barrier(id)
                return expected(last) ? last : nil
            }
        } catch let vain as NeverHappened {
            throw NeverHappened(vain.what, details: "\(id) is \(last)")
        }
    }
}

extension Daemon {
    /// Returns the resident memory of the process, in KiB.
    func residentKilobytes() throws -> Int { try status("VmRSS") }

    /// Returns the size of the address space of the process, in KiB.
    func addressKilobytes() throws -> Int { try status("VmSize") }

    /// Returns a number from the process's status (proc(5)).
    private func status(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: procPath("status"), encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        let number = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) }
        return try number ?? { throw NeverHappened("\(name) in \(status)") }()
    }

    /// Returns the number of open descriptors of the process.
    func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: procPath("fd")).count
    }

    /// Returns the processor time used by the process, in clock ticks.
    func processorTicks() throws -> Int {
        let text = try String(contentsOfFile: procPath("stat"), encoding: .utf8)
        // The name in parentheses may contain spaces. User and system time are the 12th and 13th words after it.
        let words = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard words.count > 12, let user = Int(words[11]), let system = Int(words[12]) else {
            throw NeverHappened("processor times in \(text)")
        }
        return user + system
    }

    private func procPath(_ name: String) throws -> String {
        guard let process, process.isRunning else { throw NeverHappened("a running daemon", details: log) }
        return "/proc/\(process.processIdentifier)/\(name)"
    }
}
