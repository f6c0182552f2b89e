import HeadgateCore
import HeadgateData

extension Server {
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
        let pending = PendingActivation(queue: WorkerQueue(service.worker))
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

/// An activation that a task waits for.
// Unchecked: all of it is touched on the worker only.
private final class PendingActivation: @unchecked Sendable {
    private let queue: WorkerQueue
    private var activation: (any Disposable)?
    private var isCancelled = false

    init(queue: WorkerQueue) {
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
