import HeadgateCore
import HeadgateData

/// One run of a board that the program serves, to be answered once. It lives on the server's scheduler.
///
/// Whoever lets go of it without an answer has failed it, so that nobody waits for what will never come.
public final class BoardTask {
    /// The activation whose run the present code handles; nil elsewhere. Tasks that a handler begins inherit it.
    @TaskLocal static var activation: Int?

    /// The board, its input, and for whom it is.
    public let run: BoardRun
    /// Whether somebody still waits for the answer.
    public private(set) var isWanted = true
    /// Called once when nobody waits any more: the activation was given up, or took too long.
    public var onCancel: () -> Void = {}

    private let scheduler: any Scheduler
    private let finish: (BoardAnswer) -> Void

    init(_ run: BoardRun, scheduler: any Scheduler, finish: @escaping (BoardAnswer) -> Void) {
        self.run = run
        self.scheduler = scheduler
        self.finish = finish
    }

    deinit {
        if isWanted { tell(.failure(.unanswered)) }
    }

    /// Answers it: the board is through, or (`false`) it is not. A second answer changes nothing.
    public func complete(_ done: Bool = true, output: DataItem? = nil) {
        answer(.success(BoardResult(done: done, output: output)))
    }

    /// Answers it with an error.
    public func fail(_ fault: ActivationFault) {
        answer(.failure(fault))
    }

    func answer(_ answer: BoardAnswer) {
        scheduler.preconditionOnScheduler()
        guard isWanted else { return }
        isWanted = false
        tell(answer)
    }

    func cancel() {
        guard isWanted else { return }
        isWanted = false
        scheduler.soon { [onCancel] in onCancel() }
    }

    /// Later: whoever answers may be in the middle of something.
    private func tell(_ answer: BoardAnswer) {
        scheduler.soon { [finish] in finish(answer) }
    }

    // MARK: Tasks of Swift

    /// Has a task of Swift's run it, wherever that runs, and answers with what comes of it.
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

    /// Unchecked: the task is touched on the scheduler only, and by the time that it is let go of it has been answered.
    private struct Held: @unchecked Sendable {
        let task: BoardTask
    }
}

extension ActivationFault {
    fileprivate static let unanswered = ActivationFault(message: "the program let go of it without an answer")
}
