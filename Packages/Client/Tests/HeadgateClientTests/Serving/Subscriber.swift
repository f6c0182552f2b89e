import HeadgateClient
import HeadgateTransport

/// Works for dispatchers on its own loop, and records the reports as text.
actor Subscriber {
    private nonisolated let loop: EventLoop
    private let path: String
    private lazy var connection = ClientConnection(
        to: path, as: ClientIdentity(name: "test", version: ""), options: options, on: loop)
    private let options: ClientOptions
    private let reported: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private var requests: [String: DaemonRequest] = [:]

    init(_ path: String) throws {
        var options = ClientOptions()
        options.backoffBase = .milliseconds(1)
        options.backoffCap = .milliseconds(20)
        self.path = path
        self.options = options
        loop = try EventLoop.onNewThread(named: "subscriber")
        (reported, continuation) = AsyncStream.makeStream()
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    func subscribe(to dispatcher: String, credit: Int = 1, limit: Int? = nil) {
        connection.subscribe(to: dispatcher, credit: credit, limit: limit) { news in self.take(news) }
    }

    func unsubscribe(from dispatcher: String) {
        connection.unsubscribe(from: dispatcher) { [continuation] in continuation.yield("left") }
    }

    /// Answers a batch with the outcomes, or with an error if they are nil.
    func answer(_ batch: String, _ outcomes: [String: DeliveredEventOutcome]? = [:]) {
        guard let outcomes else { return requests[batch]?.giveBack("no") ?? () }
        requests[batch]?.settle(outcomes)
    }

    func close() {
        connection.close()
        loop.stop()
    }

    /// Waits for the next report, and returns it.
    func next() async -> String? {
        var iterator = reported.makeAsyncIterator()
        return await iterator.next()
    }

    private func take(_ news: SubscriptionNews) {
        switch news {
        case .began: continuation.yield("began")
        case .batch(let batch, let request):
            requests[batch.id] = request
            let ids = batch.events.compactMap { $0.get(key: "id", as: String.self) }
            continuation.yield(
                "batch \(batch.id) of \(batch.dispatcher), attempt \(batch.attempt): \(ids.joined(separator: " "))")
        case .interrupted(let error): continuation.yield("interrupted: \(error)")
        case .ended(let error): continuation.yield("ended: \(error)")
        }
    }
}
