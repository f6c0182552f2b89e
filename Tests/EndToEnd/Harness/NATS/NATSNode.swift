import Foundation

/// A real `nats-server` with JetStream in a folder of its own. It can be stopped and started again on the same data.
final class NATSNode {
    let name: String
    let port: ReservedPort
    private let folder: String
    private let routes: ReservedPort
    /// Further lines of its configuration, which count from the next start on.
    var configuration: [String] = []
    private var process: ChildProcess?

    init(name: String, folder: String) throws {
        self.name = name
        self.folder = folder
        port = try ReservedPort()
        routes = try ReservedPort()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// Where clients find it.
    var url: String { "nats://127.0.0.1:\(port.number)" }

    /// Where the other nodes of its cluster find it.
    var routeURL: String { "nats://127.0.0.1:\(routes.number)" }

    /// Makes it one of a cluster.
    func join(_ nodes: [NATSNode]) {
        let others = nodes.map { "\"\($0.routeURL)\"" }.joined(separator: ", ")
        configuration.append(
            "cluster { name: test, listen: \"127.0.0.1:\(routes.number)\", routes: [\(others)] }")
    }

    /// Starts the process and waits until it listens.
    func start() async throws {
        let lines = [
            "server_name: \(name)", "listen: \"127.0.0.1:\(port.number)\"",
            "jetstream { store_dir: \"\(folder)/store\" }",
        ]
        let path = folder + "/nats.conf"
        try (lines + configuration).joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
        let log = folder + "/nats.log"
        let process = try ChildProcess("/usr/sbin/nats-server", ["-c", path], outputPath: log, errorPath: log)
        self.process = process
        try await eventually("a nats-server that listens") {
            guard process.isRunning else { throw NeverHappened("a running nats-server", details: process.output) }
            return NATSClient.isListening(port.number)
        }
    }

    /// Stops it, orderly or not, and waits until it is gone.
    func stop(_ signal: Int32 = SIGTERM) async throws {
        process?.signal(signal)
        _ = try await process?.exitCode()
        process = nil
    }

    func discard() {
        process?.discard()
    }

    /// Settings of a dispatcher that publishes here, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let usual: JSON = [
            "kind": "nats", "servers": [.string(url)], "subject": "shop.events", "stream": "EVENTS",
            "backoff": ["base_ms": 20, "cap_ms": 100], "annotate_queued": false,
        ]
        return usual.merging(more)
    }
}
