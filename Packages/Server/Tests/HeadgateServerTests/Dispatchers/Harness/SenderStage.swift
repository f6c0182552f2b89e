import HeadgateData
import HeadgateTransport

@testable import HeadgateCore
@testable import HeadgateServer

/// A real event loop with one sender.
actor SenderStage {
    nonisolated let loop: EventLoop
    private var client: HTTPClient?
    private var sender: (any Sender)?
    private var output = DataObject()

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    init() throws {
        loop = try EventLoop.onNewThread(named: "test-senders")
    }

    /// Runs `body` with a sender over HTTP. Then checks that the loop closes without open handles.
    /// - Parameters:
    ///   - reader: replaces the reading of files that requests need.
    ///   - encoder: replaces the compression.
    static func http(
        _ settings: HTTPSettings, as form: some HTTPForm = EventForm(),
        reader: @escaping RequestFiles.Reader = { SmallFile($0).contents(upTo: $1) },
        encoder: BodyEncoder.Encoder? = nil,
        _ body: (SenderStage) async throws -> Void
    ) async throws {
        let stage = try SenderStage()
        try await stage.openHTTP(settings, form, reader, encoder)
        try await play(stage, body)
    }

    /// Runs `body` with a sender of kind `file`.
    static func file(_ settings: FileSettings, _ body: (SenderStage) async throws -> Void) async throws {
        let stage = try SenderStage()
        try await stage.openFile(settings)
        try await play(stage, body)
    }

    /// Runs `body` with a sender of kind `nats`.
    static func nats(_ settings: NATSSettings, _ body: (SenderStage) async throws -> Void) async throws {
        let stage = try SenderStage()
        try await stage.openNATS(settings)
        try await play(stage, body)
    }

    /// Runs `body` with a sender of kind `kafka`.
    static func kafka(_ settings: KafkaSettings, _ body: (SenderStage) async throws -> Void) async throws {
        let stage = try SenderStage()
        try await stage.openKafka(settings)
        try await play(stage, body)
    }

    /// Sends one batch and returns its result. Traps if the sender reports the result before its `send` has returned.
    func send(_ events: String...) async -> SendResult {
        await send(events)
    }

    /// Sends several batches at once and returns their results, in order.
    func sendTogether(_ batches: [[String]]) async -> [SendResult] {
        await withCheckedContinuation { continuation in
            var results: [Int: SendResult] = [:]
            for (index, events) in batches.enumerated() {
                offer(events) { result in
                    results[index] = result
                    guard results.count == batches.count else { return }
                    continuation.resume(returning: batches.indices.compactMap { results[$0] })
                }
            }
        }
    }

    /// Sends each batch by a new sender of kind `file` with the same settings, as after a reload. Each sender is closed
    /// once its batch is done. Returns the results.
    func sendOverReloads(_ settings: FileSettings, _ batches: [[String]]) async throws -> [SendResult] {
        let threads = FileThreads()
        let senders = try batches.map { _ in try FileSender(settings, loop: loop, threads: threads) }
        return await withCheckedContinuation { continuation in
            var results: [Int: SendResult] = [:]
            for (index, events) in batches.enumerated() {
                senders[index].send(Batch(of: events, in: senders[index].format)) { result in
                    senders[index].close()
                    results[index] = result
                    guard results.count == batches.count else { return }
                    continuation.resume(returning: batches.indices.compactMap { results[$0] })
                }
            }
        }
    }

    /// Sends a batch without waiting. Calls `then` with its result.
    func start(_ events: String..., then: @escaping @Sendable (SendResult) -> Void) {
        offer(events, then)
    }

    /// Sets the output of the board that the dispatcher needs.
    func putOut(_ output: DataObject) {
        self.output = output
    }

    /// Sends one batch, interrupts it before the sender can do anything else, and returns its result.
    func sendAndInterrupt(_ events: String...) async -> SendResult {
        await withCheckedContinuation { continuation in
            offer(events) { continuation.resume(returning: $0) }
            interrupt()
        }
    }

    /// Interrupts all batches in flight.
    /// - Parameter then: runs in the same turn of the loop, after the interruption.
    func interrupt(then: @Sendable () -> Void = {}) {
        sender?.interrupt()
        then()
    }

    private func send(_ events: [String]) async -> SendResult {
        await withCheckedContinuation { continuation in
            offer(events) { continuation.resume(returning: $0) }
        }
    }

    private func offer(_ events: [String], _ then: @escaping (SendResult) -> Void) {
        guard let sender else { return then(.noAnswer(cause: "no sender")) }
        var hasReturned = false
        var batch = Batch(of: events, in: sender.format)
        batch.output = output
        sender.send(batch) { result in
            precondition(hasReturned)
            then(result)
        }
        hasReturned = true
    }

    private func openHTTP(
        _ settings: HTTPSettings, _ form: some HTTPForm, _ reader: @escaping RequestFiles.Reader,
        _ encoder: BodyEncoder.Encoder?
    ) throws {
        let client = HTTPClient(loop: loop, userAgent: "headgate/test")
        self.client = client
        sender = try HTTPSender(settings, as: form, client: client, reader: reader, encoder: encoder)
    }

    private func openFile(_ settings: FileSettings) throws {
        sender = try FileSender(settings, loop: loop)
    }

    private func openNATS(_ settings: NATSSettings) throws {
        sender = try MessageSender(settings, on: LoopScheduler(loop: loop))
    }

    private func openKafka(_ settings: KafkaSettings) throws {
        sender = try MessageSender(settings, on: LoopScheduler(loop: loop))
    }

    private static func play(_ stage: SenderStage, _ body: (SenderStage) async throws -> Void) async throws {
        do {
            try await body(stage)
        } catch {
            await stage.end()
            throw error
        }
        await stage.end()
    }

    private func end() async {
        sender?.close()
        client?.close()
        sender = nil
        client = nil
        loop.stop()
        await loop.waitUntilClosed()
    }
}

extension Batch {
    /// Makes a batch of complete JSON texts, with the IDs `id-0`, `id-1` and so on.
    init(of events: [String], in format: BatchFormat) {
        var body = format.prefix
        var parts: [Batch.Event] = []
        for (index, event) in events.enumerated() {
            if index > 0 { body += format.separator }
            let range = body.count..<body.count + event.utf8.count
            body += Array(event.utf8)
            parts.append(Batch.Event(id: "id-\(index)", sequenceNumber: Int64(index + 1), range: range))
        }
        self.init(number: 1, body: body + format.suffix, events: parts)
    }
}
