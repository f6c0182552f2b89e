import HeadgateCore
import HeadgateData
import HeadgateTransport

/// A Headgate daemon inside a program. It lives on the event loop that it is given.
public actor Server {
    private nonisolated let loop: EventLoop
    private(set) var service: Service?
    /// For what is told before there is a service.
    private var output = LogOutput(to: .standardError)

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// A server that does nothing yet.
    public init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Reads the settings, and opens the store and the socket.
    /// - Returns: the socket's path; nil where the configuration asks for no socket.
    @discardableResult
    public func start(_ configuration: sending ServerConfiguration) throws(StartFault) -> String? {
        guard service == nil else { throw StartFault("the server runs already") }
        _ = OpenSSL.staysToTheEnd
        ProcessSignals.ignoreWriteSignals()
        output = LogOutput(to: configuration.logTarget)
        output.format = configuration.writtenLogFormat
        var warnings: [SettingsFault] = []
        let loaded = try configuration.load { warnings.append($0) }
        output.format = loaded.settings.logFormat
        for warning in warnings { output.write(LogLine(.settingsWarning, ["fault": .string(warning.description)])) }
        let service = try Service(loop: loop, configuration: configuration, loaded: loaded)
        try service.listen()
        self.service = service
        return loaded.places.socket
    }

    /// Logs why the server does not start, in the form that the settings ask for.
    /// - Returns: false where that is plain text: nothing is logged then, and the program tells it in its own way.
    public func logFailure(_ fault: any Error) -> Bool {
        guard output.format == .json else { return false }
        output.write(LogLine(.startFailed, ["fault": .string("\(fault)")]))
        return true
    }

    /// Reads the configuration file again (Behaviour S3). Faults are logged, and leave everything as it was.
    public func reload() {
        service?.reload()
    }

    /// Stops in an orderly way (Behaviour D11): what is in flight is finished, within `shutdown_timeout_ms`, and the rest
    /// stays stored. `then` is called on the loop when it is done; a second stop waits for the same end.
    public func stop(then: @escaping @Sendable () -> Void) {
        stop { (_: Bool) in then() }
    }

    /// The same.
    /// - Parameter ended: is told whether nothing was left. Where something was, which the log says, a thread may still
    ///   hang in a call to the disk: a program that is to end must not wait for its threads then. What was acknowledged is
    ///   on disk.
    public func stop(ended: @escaping @Sendable (_ isComplete: Bool) -> Void) {
        guard let service else { return ended(true) }
        service.stop { ended($0.isComplete) }
    }

    /// Stops in an orderly way (Behaviour D11), and waits for its end.
    /// - Returns: false if something was left, as ``stop(ended:)`` tells it.
    @discardableResult
    public func stop() async -> Bool {
        await withCheckedContinuation { continuation in
            stop { (isComplete: Bool) in continuation.resume(returning: isComplete) }
        }
    }

    // MARK: Boards

    /// The boards that the program serves and activates itself; nil before the start.
    public var boards: ProgramBoards? { service?.programBoards }

    /// Activates a board from anywhere, and waits for what comes of it (Behaviour A1). A task that is cancelled gives it
    /// up. The parameters are those of ``ProgramBoards/activate(_:input:mainboard:timeout:wait:then:)``.
    public func activate(
        _ board: String, input: DataItem = .null, mainboard: String = ProgramBoards.mainboard,
        timeout: Duration? = .seconds(30), wait: Duration? = .zero
    ) async -> ActivationOutcome {
        guard let service else { return .givenUp }
        let boards = service.programBoards
        let pending = PendingActivation(queue: SchedulerQueue(service.scheduler))
        return await withTaskCancellationHandler {
            await outcome(of: pending) { then in
                boards.activate(board, input: input, mainboard: mainboard, timeout: timeout, wait: wait, then: then)
            }
        } onCancel: {
            pending.cancel()
        }
    }

    /// A method of the actor, so that it begins on the loop: a closure that does not name the actor is not its own.
    private func outcome(
        of pending: PendingActivation, _ begin: (@escaping (ActivationOutcome) -> Void) -> any Disposable
    ) async -> ActivationOutcome {
        await withCheckedContinuation { continuation in
            pending.begin(begin { continuation.resume(returning: $0) })
        }
    }
}

/// Why a daemon does not start, for people.
public struct StartFault: Error, CustomStringConvertible, Equatable, Sendable {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A server that stands behind its socket, as the program around it gets it (``ServerConfiguration/onStart``). It lives on
/// the server's scheduler.
public struct StartedServer {
    /// Barriers, flushes, dispatchers and everything else of the service.
    public let gate: Headgate
    /// The boards that the program serves and activates itself.
    public let boards: ProgramBoards
}

/// An activation that a task waits for.
// Unchecked: all of it is touched on the scheduler only.
private final class PendingActivation: @unchecked Sendable {
    private let queue: SchedulerQueue
    private var activation: (any Disposable)?
    private var isCancelled = false

    init(queue: SchedulerQueue) {
        self.queue = queue
    }

    func begin(_ activation: any Disposable) {
        self.activation = activation
        if isCancelled { activation.dispose() }
    }

    /// From any thread.
    func cancel() {
        queue.ensureOnQueue { [self] in
            isCancelled = true
            activation?.dispose()
        }
    }
}
