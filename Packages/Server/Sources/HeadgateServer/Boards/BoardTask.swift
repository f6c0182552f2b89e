import HeadgateCore
import HeadgateData

/// One run of a board that the embedding program serves. It is answered once, and lives on the server's scheduler.
///
/// A task that is released without an answer fails the run, so that no client waits for ever.
public final class BoardTask {
    /// The activation whose run the current code handles, or nil elsewhere. Tasks that a handler starts inherit it.
    @TaskLocal static var activation: Int?

    /// The board, the input, and the activation that the run belongs to.
    public let run: BoardRun
    /// A Boolean value that says whether the activation still waits for the answer.
    public private(set) var isAwaited = true
    /// Called once if the activation ends before the answer: it was cancelled or timed out.
    public var onCancel: () -> Void = {}

    private let scheduler: any Scheduler
    private let finish: (BoardAnswer) -> Void

    init(_ run: BoardRun, scheduler: any Scheduler, finish: @escaping (BoardAnswer) -> Void) {
        self.run = run
        self.scheduler = scheduler
        self.finish = finish
    }

    deinit {
        if isAwaited { deliver(.failure(.unanswered)) }
    }

    /// Answers the run: the board is completed, or (`false`) it is not. A second answer has no effect.
    public func complete(_ done: Bool = true, output: DataItem? = nil) {
        answer(.success(BoardResult(done: done, output: output)))
    }

    /// Answers the run with an error.
    public func fail(_ fault: ActivationFault) {
        answer(.failure(fault))
    }

    func answer(_ answer: BoardAnswer) {
        scheduler.preconditionOnScheduler()
        guard isAwaited else { return }
        isAwaited = false
        deliver(answer)
    }

    func cancel() {
        guard isAwaited else { return }
        isAwaited = false
        scheduler.soon { [onCancel] in onCancel() }
    }

    /// Reports the answer later, because the caller may be in the middle of a change.
    private func deliver(_ answer: BoardAnswer) {
        scheduler.soon { [finish] in finish(answer) }
    }

    // MARK: Tasks of Swift

    /// Starts a Swift task for the run, on any executor. The run's answer is the result of the task.
    func begin(on queue: SchedulerQueue, _ run: @escaping @Sendable (BoardRun) async throws -> BoardResult) {
        let held = Held(task: self)
        let work = Task { [board = self.run] in
            let answer: BoardAnswer
            do {
                answer = .success(try await run(board))
            } catch let fault as ActivationFault {
                answer = .failure(fault)
            } catch {
                answer = .failure(ActivationFault(message: "\(error)"))
            }
            queue.ensureOnQueue { held.task.answer(answer) }
        }
        onCancel = { work.cancel() }
    }

    /// Unchecked: the task is used on the scheduler only. The task is answered before its last reference is released.
    private struct Held: @unchecked Sendable {
        let task: BoardTask
    }
}

extension ActivationFault {
    fileprivate static let unanswered = ActivationFault(
        message: "the program released the board task without an answer")
}
