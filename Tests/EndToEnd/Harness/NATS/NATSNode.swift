import Foundation

/// A real `nats-server` with JetStream in its own folder. It can be stopped and started again with the same data.
final class NATSNode {
    let name: String
    let port: ReservedPort
    private let folder: String
    private let routes: ReservedPort
    /// Further lines of the configuration, which the next start reads.
    var configuration: [String] = []
    private var process: ChildProcess?

    init(name: String, folder: String) throws {
        self.name = name
        self.folder = folder
        port = try ReservedPort()
        routes = try ReservedPort()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// The URL for clients.
    var url: String { "nats://127.0.0.1:\(port.number)" }

    /// The URL for the other nodes of the cluster.
    var routeURL: String { "nats://127.0.0.1:\(routes.number)" }

    /// Adds the node to a cluster.
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

    /// Stops the process with a signal, and waits until it is gone.
    func stop(_ signal: Int32 = SIGTERM) async throws {
        process?.signal(signal)
        _ = try await process?.exitCode()
        process = nil
    }

    func discard() {
        process?.discard()
    }

    /// Settings of a dispatcher that publishes to this node, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let defaults: JSON = [
            "kind": "nats", "servers": [.string(url)], "subject": "shop.events", "stream": "EVENTS",
            "backoff": ["base_ms": 20, "cap_ms": 100], "annotate_queued": false,
        ]
        return defaults.merging(more)
    }
}

/// A reserved port of the loopback interface. The socket is bound and never listens, so connections are refused until a
/// program that allows sharing, as most servers do, listens there.
final class ReservedPort {
    let number: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = try SystemError.check(
            socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0), "socket")
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (bound, named) = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                (bind(descriptor, $0, size), getsockname(descriptor, $0, &size))
            }
        }
        _ = try SystemError.check(min(bound, named), "bind to a free port")
        number = UInt16(bigEndian: address.sin_port)
        // Sharing is set only now: with sharing on both, the system may give a free port to two sockets.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
    }
}
