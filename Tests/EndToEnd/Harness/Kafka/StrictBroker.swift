import Foundation

/// A Kafka broker of the tests' own (`Tests/KafkaCluster/strict.py`), which checks producers' sequence numbers and does as a
/// test orders.
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

    /// Has the broker do something, and gives back its answer.
    @discardableResult
    func order(_ text: String) async throws -> String {
        orderCount += 1
        orders.write(Data((text + "\n").utf8))
        return try await line(orderCount)
    }

    /// The events of each partition, in its order.
    func stored() async throws -> [[JSON]] {
        let partitions = try JSON(parsing: try await order("stored")).elements
        return try partitions.map { try $0.elements.map { try JSON(parsing: $0.string ?? "") } }
    }

    /// The numbers of all events that are stored, by `data.n`; one that is there twice is told twice.
    func storedNumbers() async throws -> [Int] {
        try await stored().joined().compactMap { $0["data"]["n"].int }.sorted()
    }

    /// Settings of a dispatcher that produces here, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let usual: JSON = [
            "kind": "kafka", "brokers": [.string(address)], "topic": "shop", "timeout_ms": 10_000,
            "backoff": ["base_ms": 20, "cap_ms": 100], "annotate_queued": false,
        ]
        return usual.merging(more)
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
    /// A running broker of its own with a topic `shop`.
    func strictBroker(partitions: Int = 4) async throws -> StrictBroker {
        keep(try await StrictBroker(partitions: partitions, in: directory.path))
    }
}
