import HeadgateCore
import HeadgateCoreTesting
import Testing

@Suite("SchedulerQueue")
struct SchedulerQueueTests {
    /// The steps that ran, in order.
    private final class Record: @unchecked Sendable {
        // Unchecked: the test and its scheduler are one thread.
        var steps: [Int] = []
    }

    @Test("B11: `ensure` runs work at once on the scheduler, and otherwise in the scheduler's turn, in order")
    func ensured() {
        let scheduler = ManualScheduler()
        let queue = SchedulerQueue(scheduler)
        let record = Record()
        queue.ensureOnQueue { record.steps.append(1) }
        #expect(record.steps == [1])
        scheduler.isCurrent = false
        queue.ensureOnQueue { record.steps.append(2) }
        queue.ensureOnQueue { record.steps.append(3) }
        #expect(record.steps == [1])
        scheduler.settle()
        #expect(record.steps == [1, 2, 3])
    }
}
