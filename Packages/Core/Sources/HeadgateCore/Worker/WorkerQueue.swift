/// A worker as anybody may hold it: the one thing of it that may be handed to another thread (Behaviour B11).
// Unchecked: a worker is not Sendable, but `isCurrent` and `submit`, which may be called from any thread, are all that is
// used of it without a check that the caller is on it.
public struct WorkerQueue: @unchecked Sendable {
    private let worker: any Worker

    public init(_ worker: any Worker) {
        self.worker = worker
    }

    /// Runs `work` on the worker: at once when the caller is on it, else later, in the order of the calls.
    public func ensureOnQueue(_ work: @escaping @Sendable () -> Void) {
        if worker.isCurrent { work() } else { worker.submit(work) }
    }

    /// Runs `work` after a while. To be called on the worker.
    func schedule(after delay: Duration, _ work: @escaping () -> Void) -> any Disposable {
        worker.preconditionOnWorker()
        return worker.schedule(at: worker.now + delay, work)
    }
}
