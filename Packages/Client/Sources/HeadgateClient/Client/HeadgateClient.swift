import HeadgateData
import HeadgateTransport
import HeadgateWire

/// A client of the daemon, for any number of tasks at once.
///
/// All calls share one connection and do not wait for each other's answers. The connection is made when it is first
/// needed and again whenever it is lost. Every event gets an id before it is sent, and is sent under this id until it
/// is acknowledged: a restart of the daemon loses none and doubles none (Behaviour Q7). Calls wait for a daemon that restarts
/// for ever, and for one that was never there as long as ``ClientOptions/connectTimeout`` says.
///
/// Failures are a ``ClientError``, or `CancellationError` when the task was cancelled: it stops waiting then, while
/// what it asked for may be done all the same.
///
/// A client has a thread of its own, which ends with ``close(within:)`` or with the client.
public actor HeadgateClient {
    /// The path of the daemon's socket.
    public nonisolated let socketPath: String
    /// How the program's own types become the data of events, and data those types again; the options say it.
    public nonisolated let coder: DataCoder

    nonisolated let loop: EventLoop
    private let identity: ClientIdentity
    nonisolated let options: ClientOptions
    /// Events that nobody waits for.
    nonisolated let soon: SoonEvents
    /// Ends the calls of ``run()``.
    private var runners: [AsyncStream<Never>.Continuation] = []
    /// The client's connection. It is made at the first call, since it belongs to the loop's thread.
    lazy var connection = ClientConnection(to: socketPath, as: identity, options: options, on: loop)

    /// A client that connects when it is first called.
    /// - Parameters:
    ///   - socketPath: the daemon's socket; nil looks in the usual places (``SocketPlace``).
    ///   - name: the program's name; with the version it is the events' `context.client`.
    ///   - version: the program's version.
    ///   - namespace: in which ids are told apart; nil for that of the user.
    ///   - options: how it treats its connection.
    /// - Throws: ``ClientError/cannotStart(cause:)``.
    public init(
        socketPath: String? = nil, name: String, version: String, namespace: String? = nil,
        options: ClientOptions = ClientOptions()
    ) throws(ClientError) {
        self.socketPath = socketPath ?? SocketPlace.usual
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

    /// The client's thread, on which the actor lives.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Takes no more work, waits for a while until every event that was tracked is acknowledged and every handler of a worker or
    /// a board has given its answer, and closes the connection. Calls that are under way then, and later ones, end with
    /// ``ClientError/closed``. A handler that closes its own client is not waited for.
    /// - Parameter limit: how long to wait. Zero closes at once.
    /// - Returns: the number of events that were not acknowledged. They may be stored or not.
    @discardableResult
    public func close(within limit: Duration = .seconds(5)) async -> Int {
        soon.close()
        takeSoon()
        connection.beginEnding()
        await drain(within: limit, mostHandlers: HandledClient.current == ObjectIdentifier(self) ? 1 : 0)
        let left = connection.unsettledEvents
        connection.close()
        loop.stop()
        await loop.waitUntilClosed()
        for runner in runners { runner.finish() }
        runners = []
        return left
    }

    /// Keeps the client open until the task is cancelled, then closes it as ``close(within:)`` does. Returns as well when the
    /// client is closed meanwhile. A service of ServiceLifecycle calls it under `cancelWhenGracefulShutdown`.
    public func run() async throws {
        let (stream, end) = AsyncStream<Never>.makeStream()
        runners.append(end)
        for await _ in stream {}
        await close()
    }

    /// Runs a handler of this client's.
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
            submitAbandon([call])
        }
    }

    /// Stops waiting for calls, from any thread.
    nonisolated func submitAbandon(_ calls: [ClientConnection.Call]) {
        loop.submit { self.assumeIsolated { $0.abandon(calls) } }
    }

    private func abandon(_ calls: [ClientConnection.Call]) {
        for call in calls { connection.abandon(call) }
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
                for (place, (call, question)) in zip(calls, questions).enumerated() {
                    begin(connection, call, question) { result in
                        answers.take(Result { try read(result.get()) }, at: place)
                    }
                }
            }
        } onCancel: {
            submitAbandon(calls)
        }
    }
}

/// The client whose handler a task runs.
private enum HandledClient {
    @TaskLocal static var current: ObjectIdentifier?
}

/// Answers that are waited for together.
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

    func take(_ answer: Result<Answer, any Error>, at place: Int) {
        answers[place] = answer
        missing -= 1
        if missing == 0 { completion(answers.compactMap { $0 }) }
    }
}
