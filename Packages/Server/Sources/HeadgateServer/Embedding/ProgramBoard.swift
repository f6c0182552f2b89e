import HeadgateCore

/// A board that the program around the server serves (``ProgramBoards``). It lives on the server's worker.
public final class ProgramBoard {
    /// Its name.
    public let name: String
    let number: Int
    private weak var desk: BoardDesk?
    private let handler: (BoardTask) -> Void
    /// What it is running, by the runs' numbers; the program holds the tasks.
    private var tasks: [Int: WeakTask] = [:]
    private var isServed = true

    private struct WeakTask {
        weak var task: BoardTask?
    }

    init(_ name: String, number: Int, desk: BoardDesk, _ handler: @escaping (BoardTask) -> Void) {
        self.name = name
        self.number = number
        self.desk = desk
        self.handler = handler
    }

    /// Serves it no more. What is under way it may finish.
    public func unserve() {
        guard isServed else { return }
        isServed = false
        _ = desk?.unserve(name, by: number)
        leaveWhenIdle()
    }

    /// Is gone at once, as a process is that disconnects: who waits for its answer is told `provider_lost`, and another who
    /// serves the board takes over what it ran as a barrier (Behaviour A1, A6).
    public func withdraw() {
        isServed = false
        for run in tasks.keys.sorted() { cancel(run) }
        desk?.providerLeft(number)
    }

    // MARK: What the desk asks

    /// Whether it runs nothing.
    var isIdle: Bool { tasks.isEmpty }

    func begin(_ run: BoardRun) {
        guard let desk else { return }
        // Held by nobody before it has begun, and the desk's other orders come first.
        let task = BoardTask(run, worker: desk.worker) { [weak self] in self?.answered(run, $0) }
        tasks[run.run] = WeakTask(task: task)
        desk.worker.soon { [handler] in
            if task.isWanted { handler(task) }
        }
    }

    /// Nobody waits for a run any more.
    func cancel(_ run: Int) {
        tasks.removeValue(forKey: run)?.task?.cancel()
        leaveWhenIdle()
    }

    private func answered(_ run: BoardRun, _ answer: BoardAnswer) {
        guard tasks.removeValue(forKey: run.run) != nil else { return }
        desk?.answered(run, answer)
        leaveWhenIdle()
    }

    private func leaveWhenIdle() {
        if !isServed && tasks.isEmpty { desk?.providerLeft(number) }
    }
}
