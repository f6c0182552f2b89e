import Foundation

/// A proxy before the brokers of a cluster that speaks TLS and authenticates clients (`Tests/KafkaCluster/guard.py`).
/// The messages are read directly from the brokers.
final class KafkaGuard {
    let cluster: KafkaCluster
    private let arguments: [String]
    private let folder: String
    private var process: ChildProcess?

    fileprivate init(before cluster: KafkaCluster, _ options: [String], in folder: String) {
        let program = URL(filePath: #filePath).appending(path: "../../../../KafkaCluster/guard.py").standardized.path
        let ports = cluster.brokers.compactMap { $0.split(separator: ":").last.map(String.init) }
        (self.cluster, arguments, self.folder) = (cluster, [program] + ports + options, folder)
    }

    deinit { process?.discard() }

    /// Starts the proxy, at the same ports each time.
    func start() async throws {
        let said = notes.count
        let process = try ChildProcess(
            "/usr/bin/python3", arguments, outputPath: folder + "/guard.out", errorPath: folder + "/guard.err")
        self.process = process
        try await eventually("a ready guard") {
            guard process.isRunning else { throw NeverHappened("a running guard", details: process.errorOutput) }
            return notes.count > said
        }
    }

    /// Kills the proxy, so that no broker can be reached.
    func kill() {
        process?.discard()
    }

    /// The lines that the proxy wrote about its clients.
    var notes: [String] { (process?.output ?? "").split(separator: "\n").map(String.init) }

    /// Settings of a dispatcher that produces through the proxy.
    func dispatcher(_ more: JSON) -> JSON {
        let brokers = cluster.brokers.map { JSON.string($0.replacing("127.0.0.1", with: "127.0.0.2")) }
        return cluster.dispatcher(["brokers": .array(brokers)]).merging(more)
    }
}

extension Scene {
    /// Starts a proxy before the brokers of a new cluster.
    func kafkaGuard(_ options: [String]) async throws -> KafkaGuard {
        let guardian = keep(KafkaGuard(before: try await kafkaCluster(), options, in: directory.path))
        try await guardian.start()
        return guardian
    }
}
