import Foundation

/// Brokers of librdkafka's mock cluster in their own process, controlled by the test. `kcat` reads their messages.
final class KafkaCluster {
    private let folder: String
    private let process: ChildProcess
    private let orders: FileHandle
    private var orderCount = 0
    /// The addresses of the brokers, in order.
    private(set) var brokers: [String] = []

    /// A message as `kcat` read it.
    struct Message {
        let key: String?
        let headers: [String: String]
        let event: JSON
        let body: String

        var id: String? { event["id"].string }
    }

    /// Starts the brokers and creates a topic `shop` with three partitions.
    init(of count: Int, in folder: String) async throws {
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let pipe = Pipe()
        orders = pipe.fileHandleForWriting
        _ = fcntl(orders.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process = try ChildProcess(
            BuiltProducts.path(of: "KafkaCluster"), ["\(count)"], inherited: pipe.fileHandleForReading.fileDescriptor,
            outputPath: folder + "/brokers.out", errorPath: folder + "/brokers.err")
        try pipe.fileHandleForReading.close()
        brokers = try await line(0).split(separator: ",").map(String.init)
        try await order("topic shop 3 \(min(count, 3))")
    }

    deinit { process.discard() }

    /// Sends a command to the cluster, and waits until it is done.
    func order(_ text: String) async throws {
        orderCount += 1
        orders.write(Data((text + "\n").utf8))
        let answer = try await line(orderCount)
        guard answer == "done" else { throw NeverHappened("the command \(text)", details: answer) }
    }

    /// Sends a command such as `down` or `up` for every broker.
    func setAll(_ word: String) async throws {
        for broker in 1...brokers.count { try await order("\(word) \(broker)") }
    }

    /// Settings of a dispatcher that produces to this cluster, with short waits after failures.
    func dispatcher(_ more: JSON = [:]) -> JSON {
        let defaults: JSON = [
            "kind": "kafka", "brokers": .array(brokers.map { .string($0) }), "topic": "shop", "timeout_ms": 10_000,
            "backoff": ["base_ms": 20, "cap_ms": 100], "annotate_queued": false,
        ]
        return defaults.merging(more)
    }

    /// Waits until the topic has at least `count` messages, and returns all of them, in order within each partition.
    func messages(atLeast count: Int, in topic: String = "shop") async throws -> [Message] {
        try await eventually("\(count) messages in the topic") {
            let messages = try await self.messages(in: topic)
            return messages.count >= count ? messages : nil
        }
    }

    func messages(in topic: String = "shop") async throws -> [Message] {
        let arguments = ["-C", "-b", brokers.joined(separator: ","), "-t", topic, "-o", "beginning", "-e", "-q", "-J"]
        let read = try await CommandLineTool.run(program: "/usr/bin/kcat", arguments, in: folder)
        let lines = try read.output.split(separator: "\n").map { try JSON(parsing: String($0)) }
        let position = { (line: JSON) in (line["partition"].int ?? 0, line["offset"].int ?? 0) }
        return try lines.sorted { position($0) < position($1) }.map { line in
            let words = line["headers"].elements.map { $0.string ?? "" }
            let pairs = stride(from: 0, to: words.count, by: 2).map { (words[$0], words[$0 + 1]) }
            let body = line["payload"].string ?? ""
            return Message(
                key: line["key"].string, headers: Dictionary(pairs) { $1 }, event: try JSON(parsing: body), body: body)
        }
    }

    private func line(_ number: Int) async throws -> String {
        try await eventually("line \(number) of the brokers") {
            guard process.isRunning else { throw NeverHappened("running brokers", details: process.errorOutput) }
            let whole = process.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            return whole.count > number ? String(whole[number]) : nil
        }
    }
}

extension Scene {
    /// Starts the brokers of a cluster.
    func kafkaCluster(of count: Int = 3) async throws -> KafkaCluster {
        keep(try await KafkaCluster(of: count, in: directory.path("kafka")))
    }
}
