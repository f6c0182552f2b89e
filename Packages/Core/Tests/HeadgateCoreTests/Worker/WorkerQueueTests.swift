import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("WorkerQueue")
struct WorkerQueueTests {
    /// What ran, in order, wherever it ran.
    private final class Record: @unchecked Sendable {
        // Unchecked: the test and its worker are one thread.
        var steps: [Int] = []
    }

    @Test("B11: what is ensured on the worker runs now when the caller is on it, else in the worker's turn, in order")
    func ensured() {
        let worker = ManualWorker()
        let queue = WorkerQueue(worker)
        let record = Record()
        queue.ensureOnQueue { record.steps.append(1) }
        #expect(record.steps == [1])
        worker.isCurrent = false
        queue.ensureOnQueue { record.steps.append(2) }
        queue.ensureOnQueue { record.steps.append(3) }
        #expect(record.steps == [1])
        worker.settle()
        #expect(record.steps == [1, 2, 3])
    }
}
