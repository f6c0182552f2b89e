import HeadgateCore
import HeadgateData

/// Boards as the program around the server serves and activates them (Behaviour A1), without a client to itself. They are
/// what those of clients are: barriers and gateways stand before them, and either side may be a client.
///
///     configuration.onStart = { started in
///         try started.boards.serve("welcome") { $0.complete() }
///     }
///
/// It lives on the server's scheduler; ``Server/activate(_:input:mainboard:timeout:wait:)`` is for all other threads.
public final class ProgramBoards {
    /// Whose barriers of scope `main` stand before what the program activates, where it does not say (Behaviour A3).
    public static let mainboard = "program"

    private let boards: Boards
    private let gate: Headgate
    private var served = 0

    init(_ boards: Boards, gate: Headgate) {
        self.boards = boards
        self.gate = gate
    }

    /// Serves a board, as a process of its own would.
    /// - Parameters:
    ///   - board: its name, of 1 to 128 bytes without `*` and control characters.
    ///   - barrier: the board that has to complete before it (Behaviour A2).
    ///   - bypassesGateway: whether it asks that no gateway stand before it (Behaviour A7).
    ///   - begin: called on the scheduler for each run, which is to be answered at once or later.
    /// - Returns: what ends it; to be dropped where it is served as long as the server runs.
    @discardableResult
    public func serve(
        _ board: String, behind barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false,
        _ begin: @escaping (BoardTask) -> Void
    ) throws(BoardRefusal) -> ProgramBoard {
        try serve(board, BoardServing(barrier: barrier, bypassesGateway: bypassesGateway), { _ in barrier }, begin)
    }

    /// Serves a board whose barrier is chosen for each activation (Behaviour A2).
    /// - Parameters:
    ///   - board: its name, of 1 to 128 bytes without `*` and control characters.
    ///   - choose: called on the scheduler with the input of each activation. Returns the board that has to complete first,
    ///     or nil if none has to. An error ends the activation as if the board itself had failed.
    ///   - bypassesGateway: true to request that no gateway stand before the board (Behaviour A7).
    ///   - begin: called on the scheduler for each run, which is to be answered at once or later.
    /// - Returns: the served board, whose `unserve()` ends it; to be dropped if it is served as long as the server runs.
    @discardableResult
    public func serve(
        _ board: String, behind choose: @escaping (DataItem) throws -> ActivationBarrier?,
        bypassesGateway: Bool = false,
        _ begin: @escaping (BoardTask) -> Void
    ) throws(BoardRefusal) -> ProgramBoard {
        try serve(board, BoardServing(.chosen, bypassesGateway: bypassesGateway), choose, begin)
    }

    private func serve(
        _ board: String, _ serving: BoardServing, _ choose: @escaping (DataItem) throws -> ActivationBarrier?,
        _ begin: @escaping (BoardTask) -> Void
    ) throws(BoardRefusal) -> ProgramBoard {
        if let complaint = BoardName.complaint(about: board) { throw .name(complaint) }
        served += 1
        // Sessions have positive numbers.
        let provider = ProgramBoard(board, number: -served, in: boards, choose, begin)
        do throws(ServingRefusal) {
            try boards.serve(board, serving, by: provider)
        } catch {
            throw .serving(error)
        }
        return provider
    }

    /// Serves a board whose runs are tasks, which are cancelled when nobody waits for them any more. An error that they
    /// throw is the board's answer.
    @discardableResult
    public func answer(
        _ board: String, behind barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false,
        with run: @escaping @Sendable (BoardRun) async throws -> BoardResult
    ) throws(BoardRefusal) -> ProgramBoard {
        let queue = SchedulerQueue(boards.scheduler)
        return try serve(board, behind: barrier, bypassesGateway: bypassesGateway) { task in
            task.begin(on: queue, run)
        }
    }

    /// Serves a board whose runs are tasks and whose barrier is chosen for each activation.
    @discardableResult
    public func answer(
        _ board: String, behind choose: @escaping (DataItem) throws -> ActivationBarrier?,
        bypassesGateway: Bool = false,
        with run: @escaping @Sendable (BoardRun) async throws -> BoardResult
    ) throws(BoardRefusal) -> ProgramBoard {
        let queue = SchedulerQueue(boards.scheduler)
        return try serve(board, behind: choose, bypassesGateway: bypassesGateway) { task in
            task.begin(on: queue, run)
        }
    }

    /// Activates a board (Behaviour A1). The run of a barrier that activates a board behind the same barrier is a circle
    /// (Behaviour A8), which is recognised as long as the call is made in the code that handles the run, or in a task of it.
    /// - Parameters:
    ///   - board: its name.
    ///   - input: what it is given.
    ///   - mainboard: whose barriers of scope `main` stand before it (Behaviour A3).
    ///   - timeout: how long its process may take to answer, from when it was asked; nil: as long as it takes.
    ///   - wait: how long to wait for somebody who serves it; nil: as long as it takes.
    ///   - then: told what came of it on the scheduler, exactly once and later.
    /// - Returns: what gives it up, after which `then` is told `givenUp`.
    @discardableResult
    public func activate(
        _ board: String, input: DataItem = .null, mainboard: String = ProgramBoards.mainboard,
        timeout: Duration? = .seconds(30), wait: Duration? = .zero, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        var request = ActivationRequest(board: board, mainboard: mainboard)
        (request.input, request.timeout, request.wait) = (input, timeout, wait)
        request.within = BoardTask.activation
        let tell = { [scheduler = boards.scheduler] outcome in scheduler.soon { then(outcome) } }
        // The service itself is held to no limit, so that nothing but a stop refuses it.
        guard !gate.isStopping, let activation = try? boards.activate(request, then: tell) else {
            tell(.givenUp)
            return DisposeAction {}
        }
        return DisposeAction { [weak boards] in boards?.cancel(activation) }
    }
}

/// Why a program may not serve a board.
public enum BoardRefusal: Error, Sendable, Equatable {
    /// What is wrong with its name, for people.
    case name(String)
    /// What others serve does not go with it.
    case serving(ServingRefusal)
}

/// A board that the program around the server serves (``ProgramBoards``). It lives on the server's scheduler.
public final class ProgramBoard: BoardProvider {
    /// Its name.
    public let name: String
    let number: Int
    private weak var boards: Boards?
    private let choose: (DataItem) throws -> ActivationBarrier?
    private let handler: (BoardTask) -> Void
    /// What it is running, by the runs' numbers; the program holds the tasks.
    private var tasks: [Int: WeakTask] = [:]
    private var isServed = true

    private struct WeakTask {
        weak var task: BoardTask?
    }

    init(
        _ name: String, number: Int, in boards: Boards, _ choose: @escaping (DataItem) throws -> ActivationBarrier?,
        _ handler: @escaping (BoardTask) -> Void
    ) {
        self.name = name
        self.choose = choose
        self.number = number
        self.boards = boards
        self.handler = handler
    }

    /// Serves it no more. What is under way it may finish.
    public func unserve() {
        guard isServed else { return }
        isServed = false
        _ = boards?.unserve(name, by: number)
        leaveWhenIdle()
    }

    /// Is gone at once, as a process is that disconnects: who waits for its answer is told `provider_lost`, and another who
    /// serves the board takes over what it ran as a barrier (Behaviour A1, A6).
    public func withdraw() {
        isServed = false
        for run in tasks.keys.sorted() { cancel(run) }
        boards?.providerLeft(number)
    }

    // MARK: What it is asked

    /// Whether it runs nothing.
    var isIdle: Bool { tasks.isEmpty }
    /// False: the program takes every run.
    var isOverfull: Bool { false }

    func begin(_ run: BoardRun) {
        guard let boards else { return }
        // Held by nobody before it has begun, and other orders come first.
        let task = BoardTask(run, scheduler: boards.scheduler) { [weak self] in self?.answered(run, $0) }
        tasks[run.run] = WeakTask(task: task)
        boards.scheduler.soon { [handler] in
            if task.isWanted { BoardTask.$activation.withValue(run.activation) { handler(task) } }
        }
    }

    /// Chooses a barrier by the program's own code, later: the machine's other orders come first.
    func chooseBarrier(for run: BoardRun) {
        boards?.scheduler.soon { [choose, weak boards] in
            let choice = Result { try choose(run.input) }.mapError { error in
                error as? ActivationFault ?? ActivationFault(message: "\(error)")
            }
            boards?.chose(run, choice)
        }
    }

    /// Nobody waits for a run any more.
    func cancel(_ run: Int) {
        tasks.removeValue(forKey: run)?.task?.cancel()
        leaveWhenIdle()
    }

    private func answered(_ run: BoardRun, _ answer: BoardAnswer) {
        guard tasks.removeValue(forKey: run.run) != nil else { return }
        boards?.answered(run, answer)
        leaveWhenIdle()
    }

    private func leaveWhenIdle() {
        if !isServed && tasks.isEmpty { boards?.providerLeft(number) }
    }
}
