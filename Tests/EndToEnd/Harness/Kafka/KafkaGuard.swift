import Foundation

/// Who stands before the brokers of a cluster, speaks TLS and asks who comes (`Tests/KafkaCluster/guard.py`). What the topic has
/// is read from the brokers themselves.
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

    /// Starts it, at the same ports each time.
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

    /// Ends it, so that no broker can be reached.
    func kill() {
        process?.discard()
    }

    /// What it wrote of those who came.
    var notes: [String] { (process?.output ?? "").split(separator: "\n").map(String.init) }

    /// Settings of a dispatcher that produces past the guard.
    func dispatcher(_ more: JSON) -> JSON {
        let brokers = cluster.brokers.map { JSON.string($0.replacing("127.0.0.1", with: "127.0.0.2")) }
        return cluster.dispatcher(["brokers": .array(brokers)]).merging(more)
    }
}

extension Scene {
    /// A running guard before brokers of a cluster of its own.
    func kafkaGuard(_ options: [String]) async throws -> KafkaGuard {
        let guardian = keep(KafkaGuard(before: try await kafkaCluster(), options, in: directory.path))
        try await guardian.start()
        return guardian
    }
}
