import Foundation

/// A Kafka broker written for the tests (`Tests/KafkaCluster/strict.py`). It checks the sequence numbers of producers,
/// and is controlled by the test.
final class StrictBroker {
    private let process: ChildProcess
    private let orders: FileHandle
    private var orderCount = 0
    private(set) var address = ""

    fileprivate init(partitions: Int, in folder: String) async throws {
        let program = URL(filePath: #filePath).appending(path: "../../../../KafkaCluster/strict.py").standardized.path
        let pipe = Pipe()
        orders = pipe.fileHandleForWriting
        _ = fcntl(orders.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process = try ChildProcess(
            "/usr/bin/python3", [program, "\(partitions)"], inherited: pipe.fileHandleForReading.fileDescriptor,
            outputPath: folder + "/strict.out", errorPath: folder + "/strict.err")
        try pipe.fileHandleForReading.close()
        address = try await line(0)
    }

    deinit { process.discard() }

    /// Sends a command to the broker, and returns the answer.
    @discardableResult
    func order(_ text: String) async throws -> String {
        orderCount += 1
        orders.write(Data((text + "\n").utf8))
        return try await line(orderCount)
    }

    /// Returns the events of each partition, in order.
    func stored() async throws -> [[JSON]] {
        let partitions = try JSON(parsing: try await order("stored")).elements
        return try partitions.map { try $0.elements.map { try JSON(parsing: $0.string ?? "") } }
    }

    /// Returns `data.n` of every stored event, including duplicates.
    func storedNumbers() async throws -> [Int] {
        try await stored().joined().compactMap { $0["data"]["n"].int }.sorted()
    }

    /// Settings of a dispatcher that produces to this broker, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let defaults: JSON = [
            "kind": "kafka", "brokers": [.string(address)], "topic": "shop", "timeout_ms": 10_000,
            "backoff": ["base_ms": 20, "cap_ms": 100], "annotate_queued": false,
        ]
        return defaults.merging(more)
    }

    private func line(_ number: Int) async throws -> String {
        try await eventually("line \(number) of the broker") {
            guard process.isRunning else { throw NeverHappened("a running broker", details: process.errorOutput) }
            let whole = process.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            return whole.count > number ? String(whole[number]) : nil
        }
    }
}

extension Scene {
    /// Starts a broker with a topic `shop`.
    func strictBroker(partitions: Int = 4) async throws -> StrictBroker {
        keep(try await StrictBroker(partitions: partitions, in: directory.path))
    }
}
