import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A client of the daemon, for any number of tasks at once.
///
/// All calls share one connection and do not wait for each other's answers. The client connects at the first call,
/// and again when the connection is lost. It sends every event under an id until the daemon acknowledges it. So a
/// restart of the daemon loses no event and doubles none (Behaviour Q7). Calls wait without a limit for a daemon that
/// restarts, and ``ClientOptions/connectTimeout`` for one that was never there.
///
/// Calls fail with a ``ClientError``, or with `CancellationError` if the task was cancelled. The daemon may do what a
/// cancelled call asks for.
///
/// A client has a thread of its own, which ends with ``close(within:)`` or with the client.
public actor HeadgateClient {
    /// The path of the daemon's socket.
    public nonisolated let socketPath: String
    /// Encodes types of the program as the data of events, and decodes data.
    public nonisolated let coder: DataCoder

    nonisolated let loop: EventLoop
    private let identity: ClientIdentity
    nonisolated let options: ClientOptions
    /// The events of ``trackSoon(_:)``.
    nonisolated let soon: SoonEvents
    /// Ends the calls of ``run()``.
    private var runners: [AsyncStream<Never>.Continuation] = []
    private var isClosed = false
    /// The client's connection. It belongs to the loop's thread, so the first call creates it there.
    lazy var connection = ClientConnection(to: socketPath, as: identity, options: options, on: loop)

    /// Creates a client, which connects at its first call.
    /// - Parameters:
    ///   - socketPath: the daemon's socket; nil uses the usual path (``SocketPath``).
    ///   - name: the program's name. With the version it is the events' `context.client`.
    ///   - version: the program's version.
    ///   - namespace: the namespace of ids; nil is the user's.
    ///   - options: the client's options.
    /// - Throws: ``ClientError/cannotStart(cause:)``.
    public init(
        socketPath: String? = nil, name: String, version: String, namespace: String? = nil,
        options: ClientOptions = ClientOptions()
    ) throws(ClientError) {
        self.socketPath = socketPath ?? SocketPath.default
        identity = ClientIdentity(name: name, version: version, namespace: namespace)
        self.options = options
        coder = options.coder
        soon = SoonEvents(most: (options.maxUnanswered, options.maxUnansweredBytes))
        do throws(TransportError) {
            loop = try EventLoop.onNewThread(named: "headgate-client")
        } catch {
            throw .cannotStart(cause: error.description)
        }
    }

    isolated deinit {
        connection.close()
        loop.stop()
    }

    /// The client's thread, which runs the actor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Closes the client. It takes no more work from the daemon and waits until every tracked event is acknowledged
    /// and every handler of a worker or a board has given its answer. Then it closes the connection. Other calls, and
    /// later ones, end with ``ClientError/closed``, also those of a task that was made before and has not begun. A handler
    /// that closes its own client is not waited for.
    /// - Parameter limit: the longest wait. Zero closes at once.
    /// - Returns: the number of events that were not acknowledged, which may be stored or not. Events of ``trackSoon(_:)``
    ///   that the client dropped because it could not connect are among them.
    @discardableResult
    public func close(within limit: Duration = .seconds(5)) async -> Int {
        soon.close()
        takeSoon()
        connection.beginEnding()
        await drain(within: limit, mostHandlers: HandledClient.current == ObjectIdentifier(self) ? 1 : 0)
        let left = connection.unsettledEvents + soon.takeDropped()
        connection.close()
        loop.stop()
        await loop.waitUntilClosed()
        isClosed = true
        for runner in runners { runner.finish() }
        runners = []
        return left
    }

    /// Keeps the client open until the task is cancelled, and closes it as ``close(within:)`` does. Returns too when
    /// the client is closed meanwhile, or was before. A service of ServiceLifecycle calls it under
    /// `cancelWhenGracefulShutdown`.
    public func run() async throws {
        guard !isClosed else { return }
        let (stream, end) = AsyncStream<Never>.makeStream()
        runners.append(end)
        for await _ in stream {}
        await close()
    }

    /// Runs a handler of a worker or a board.
    nonisolated func handle<Answer: Sendable>(_ body: @Sendable () async throws -> Answer) async throws -> Answer {
        try await HandledClient.$current.withValue(ObjectIdentifier(self), operation: body)
    }

    /// Makes a call, waits for its answer, and reads it.
    func ask<Answer: Sendable>(
        _ read: @escaping (JSONView) throws -> Answer,
        begin: (ClientConnection, ClientConnection.Call, @escaping ClientConnection.Completion) -> Void
    ) async throws -> Answer {
        let call = connection.reserve()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                begin(connection, call) { result in
                    continuation.resume(with: Result { try read(result.get()) })
                }
            }
        } onCancel: {
            submitCancel([call])
        }
    }

    /// Makes a persistent call and waits until the daemon has granted it for the first time.
    func begin(
        _ start: (ClientConnection, ClientConnection.Call, @escaping (PersistentCallReport) -> Void) -> Void
    ) async throws {
        let call = connection.reserve()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                var waiting: CheckedContinuation<Void, any Error>? = continuation
                start(connection, call) { report in
                    switch report {
                    case .began: waiting?.resume()
                    case .interrupted: return
                    case .ended(let error): waiting?.resume(throwing: error)
                    }
                    waiting = nil
                }
            }
        } onCancel: {
            submitCancel([call])
        }
    }

    /// Abandons calls, from any thread.
    nonisolated func submitCancel(_ calls: [ClientConnection.Call]) {
        loop.submit { self.assumeIsolated { $0.cancel(calls) } }
    }

    private func cancel(_ calls: [ClientConnection.Call]) {
        for call in calls { connection.cancel(call) }
    }

    /// Makes several calls in their order, and waits for all answers.
    func askEach<Question, Answer: Sendable>(
        _ questions: [Question], _ read: @escaping (JSONView) throws -> Answer,
        begin: (ClientConnection, ClientConnection.Call, Question, @escaping ClientConnection.Completion) -> Void
    ) async -> [Result<Answer, any Error>] {
        let calls = questions.map { _ in connection.reserve() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answers = GatheredAnswers<Answer>(count: calls.count) { continuation.resume(returning: $0) }
                for (index, (call, question)) in zip(calls, questions).enumerated() {
                    begin(connection, call, question) { result in
                        answers.take(Result { try read(result.get()) }, at: index)
                    }
                }
            }
        } onCancel: {
            submitCancel(calls)
        }
    }
}

/// The client whose handler the task runs.
private enum HandledClient {
    @TaskLocal static var current: ObjectIdentifier?
}

/// Collects the answers of several calls.
private final class GatheredAnswers<Answer> {
    private var answers: [Result<Answer, any Error>?]
    private var missing: Int
    private let completion: ([Result<Answer, any Error>]) -> Void

    init(count: Int, completion: @escaping ([Result<Answer, any Error>]) -> Void) {
        answers = Array(repeating: nil, count: count)
        missing = count
        self.completion = completion
        if count == 0 { completion([]) }
    }

    func take(_ answer: Result<Answer, any Error>, at index: Int) {
        answers[index] = answer
        missing -= 1
        if missing == 0 { completion(answers.compactMap { $0 }) }
    }
}
