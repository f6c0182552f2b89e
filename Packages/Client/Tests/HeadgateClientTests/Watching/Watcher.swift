import HeadgateClient
import HeadgateTransport
import HeadgateWire

/// Watches a daemon on its own loop, and records the reports as text.
actor Watcher {
    private nonisolated let loop: EventLoop
    private let path: String
    private lazy var connection = ClientConnection(
        to: path, as: ClientIdentity(name: "test", version: ""), options: options, on: loop)
    private var call: ClientConnection.Call?
    private let options: ClientOptions
    private let reported: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init(_ path: String, change: (inout ClientOptions) -> Void = { _ in }) throws {
        var options = ClientOptions()
        options.backoffBase = .milliseconds(1)
        options.backoffCap = .milliseconds(20)
        change(&options)
        self.path = path
        self.options = options
        loop = try EventLoop.onNewThread(named: "watcher")
        (reported, continuation) = AsyncStream.makeStream()
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    func watch(_ topics: [WatchTopic]? = nil) {
        call = connection.watch(topics) { [continuation] news in continuation.yield(Watcher.text(news)) }
    }

    /// Calls another method, and ignores its answer.
    func ask(_ method: String) {
        connection.call(method) { _ in }
    }

    func cancel() {
        if let call { connection.cancel(call) }
    }

    /// Closes the connection and ends the loop.
    func close() {
        connection.close()
        loop.stop()
    }

    /// Waits for the next report, and returns it.
    func next() async -> String? {
        var iterator = reported.makeAsyncIterator()
        return await iterator.next()
    }

    private static func text(_ news: WatchNews) -> String {
        switch news {
        case .began: "began"
        case .changed(let params): "changed \(params.item.json)"
        case .interrupted(let error): "interrupted: \(error)"
        case .ended(let error): "ended: \(error)"
        }
    }
}
