import HeadgateCore
import HeadgateData
import HeadgateTransport

/// A Headgate daemon inside a program. It lives on the event loop that its initializer gets.
public actor Server {
    private nonisolated let loop: EventLoop
    private(set) var service: Service?
    /// The log's output until the service has its own.
    private var output = LogOutput(to: .standardError)

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    /// Makes a server that is not started.
    public init(on loop: EventLoop) {
        self.loop = loop
    }

    /// Reads the settings and opens the store and the socket.
    /// - Returns: the socket's path, or nil if the configuration asks for no socket.
    @discardableResult
    public func start(_ configuration: sending ServerConfiguration) throws(StartFault) -> String? {
        guard service == nil else { throw StartFault("the server is already running") }
        _ = OpenSSL.skipsExitCleanup
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
        return loaded.paths.socket
    }

    /// Logs the reason why the server does not start, if the settings ask for a log in JSON.
    /// - Returns: false if the log is plain text. Then nothing is logged, and the program prints the reason itself.
    public func logFailure(_ fault: any Error) -> Bool {
        guard output.format == .json else { return false }
        output.write(LogLine(.startFailed, ["fault": .string("\(fault)")]))
        return true
    }

    /// Reads the configuration file again (Behaviour S3). If the file has faults, they are logged and the settings do
    /// not change.
    public func reload() {
        service?.reload()
    }

    /// Stops in an orderly way (Behaviour D11). The server finishes the batches in flight, within
    /// `shutdown_timeout_ms`. All other events stay stored. A second stop waits for the same end.
    /// - Parameter then: called on the loop at the end.
    public func stop(then: @escaping @Sendable () -> Void) {
        stop { (_: Bool) in then() }
    }

    /// Stops in an orderly way (Behaviour D11) and reports whether the stop is complete. Acknowledged events are on the
    /// disk in either case.
    /// - Parameter ended: called on the loop at the end. It gets false if work was left, which the log names. A thread
    ///   may then still hang in a call to the disk, so a program that exits must not wait for its threads.
    public func stop(ended: @escaping @Sendable (_ isComplete: Bool) -> Void) {
        guard let service else { return ended(true) }
        service.stop { ended($0.isComplete) }
    }

    /// Stops in an orderly way (Behaviour D11) and waits for the end.
    /// - Returns: false if work was left, as ``stop(ended:)`` describes.
    @discardableResult
    public func stop() async -> Bool {
        await withCheckedContinuation { continuation in
            stop { (isComplete: Bool) in continuation.resume(returning: isComplete) }
        }
    }

    // MARK: Boards

    /// The boards of the embedding program, or nil before the start.
    public var boards: ProgramBoards? { service?.programBoards }

    /// Activates a board, from any thread, and waits for the outcome (Behaviour A1). Cancelling the task cancels the
    /// activation. The parameters are those of ``ProgramBoards/activate(_:input:mainboard:timeout:wait:then:)``.
    public func activate(
        _ board: String, input: DataItem = .null, mainboard: String = ProgramBoards.mainboard,
        timeout: Duration? = .seconds(30), wait: Duration? = .zero
    ) async -> ActivationOutcome {
        guard let service else { return .withdrawn }
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

    /// Begins an activation on the loop and waits for its outcome. It is a method of the actor, because a closure that
    /// does not use the actor would run elsewhere.
    private func outcome(
        of pending: PendingActivation, _ begin: (@escaping (ActivationOutcome) -> Void) -> any Disposable
    ) async -> ActivationOutcome {
        await withCheckedContinuation { continuation in
            pending.begin(begin { continuation.resume(returning: $0) })
        }
    }
}

/// An activation that a task waits for.
// Unchecked: all properties are used on the scheduler only.
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

    /// Cancels the activation, from any thread.
    func cancel() {
        queue.ensureOnQueue { [self] in
            isCancelled = true
            activation?.dispose()
        }
    }
}
