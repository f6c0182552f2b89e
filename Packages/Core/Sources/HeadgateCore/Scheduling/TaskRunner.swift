/// Runs asynchronous functions on a scheduler, all of their lines included. Between two lines the scheduler does other
/// work (Behaviour B11).
///
/// Use it for operations that wait for the store several times and are not on the path of every event: a task costs
/// allocations, and each answer is taken only at the end of the turn.
// Unchecked: all of it is used on the scheduler only.
final class TaskRunner: TaskExecutor, @unchecked Sendable {
    private let scheduler: any Scheduler
    /// The functions that continue later in this turn.
    private var jobs: [UnownedJob] = []
    /// The functions that wait for an answer, by the numbers of their waits. Each closure ends a wait without an
    /// answer.
    private var waits: [Int: () -> Void] = [:]
    private var lastWait = 0
    private var hasEnded = false

    init(_ scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Begins an asynchronous function later in this turn.
    func run(_ body: @escaping () async throws(RunnerEnded) -> Void) {
        let work = Work(body: body, runner: self)
        Task(executorPreference: self) { await work.run() }
    }

    /// Calls a function that takes a callback, and waits for the call. Only for functions that this runner runs.
    func answer<Value>(_ ask: (@escaping (Value) -> Void) -> Void) async throws(RunnerEnded) -> Value {
        guard !hasEnded else { throw RunnerEnded() }
        lastWait += 1
        let wait = lastWait
        let answer = await withUnsafeContinuation { (continuation: UnsafeContinuation<Answer<Value>, Never>) in
            waits[wait] = { continuation.resume(returning: Answer(value: nil)) }
            ask { [self] value in
                guard waits.removeValue(forKey: wait) != nil else { return }
                continuation.resume(returning: Answer(value: value))
            }
        }
        guard !hasEnded, let value = answer.value else { throw RunnerEnded() }
        return value
    }

    /// Ends all functions where they wait, because no answer can come any more.
    func end() {
        hasEnded = true
        let ended = waits.sorted { $0.key < $1.key }
        waits = [:]
        for (_, end) in ended { end() }
        runJobs()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        scheduler.preconditionOnScheduler()
        jobs.append(UnownedJob(job))
        if jobs.count == 1 { scheduler.soon { [self] in runJobs() } }
    }

    private func runJobs() {
        while !jobs.isEmpty { jobs.removeFirst().runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// The function of a task. It keeps the runner, which the task itself does not.
    // Unchecked: it is created on the scheduler, and runs there.
    private struct Work: @unchecked Sendable {
        let body: () async throws(RunnerEnded) -> Void
        let runner: TaskRunner

        func run() async {
            // No caller waits for the result of a function that was abandoned.
            do throws(RunnerEnded) { try await body() } catch {}
        }
    }

    /// An answer that is passed from one line of a function to the next.
    // Unchecked: both lines run on the scheduler, one after the other.
    private struct Answer<Value>: @unchecked Sendable {
        /// The value; nil if there will be none.
        let value: Value?
    }
}

/// The error that ends an asynchronous function that waits for an answer when its gate ends.
struct RunnerEnded: Error {}

/// A lock that lets asynchronous functions through one at a time, in the order of their calls.
final class OneAtATime {
    private let tasks: TaskRunner
    private var isBusy = false
    private var waiting: [(()) -> Void] = []

    init(_ tasks: TaskRunner) {
        self.tasks = tasks
    }

    /// Runs a function after those of all earlier calls.
    func run<Output>(_ body: () async throws(RunnerEnded) -> Output) async throws(RunnerEnded) -> Output {
        if isBusy { try await tasks.answer { waiting.append($0) } }
        isBusy = true
        let output = try await body()
        // The next function is busy from now on, so that no new call gets ahead of it.
        if waiting.isEmpty { isBusy = false } else { waiting.removeFirst()(()) }
        return output
    }
}
