import HeadgateCore
import HeadgateData

/// The boards that the embedding program serves and activates (Behaviour A1) without a client connection. Barriers and
/// gateways apply to them, and clients and the program may activate each other's boards.
///
///     configuration.onStart = { started in
///         try started.boards.serve("welcome") { $0.complete() }
///     }
///
/// This class lives on the server's scheduler. Other threads use ``Server/activate(_:input:mainboard:timeout:wait:)``.
public final class ProgramBoards {
    /// The default mainboard of the program's activations: barriers of scope `main` of this name apply to them
    /// (Behaviour A3).
    public static let mainboard = "program"

    private let boards: Boards
    private let gate: Headgate
    private var served = 0

    init(_ boards: Boards, gate: Headgate) {
        self.boards = boards
        self.gate = gate
    }

    /// Serves a board, as a client would.
    /// - Parameters:
    ///   - board: the board's name, of 1 to 128 bytes without `*` and control characters.
    ///   - barrier: the board that must complete first (Behaviour A2).
    ///   - bypassesGateway: true to request that no gateway stand before the board (Behaviour A7).
    ///   - begin: called on the scheduler for each run. It answers the run at once or later.
    /// - Returns: the served board. Its `unserve()` ends the serving. The caller may ignore it to serve the board until
    ///   the server stops.
    @discardableResult
    public func serve(
        _ board: String, behind barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false,
        _ begin: @escaping (BoardTask) -> Void
    ) throws(BoardRefusal) -> ProgramBoard {
        try serve(board, BoardServing(barrier: barrier, bypassesGateway: bypassesGateway), { _ in barrier }, begin)
    }

    /// Serves a board whose barrier is chosen for each activation (Behaviour A2).
    /// - Parameters:
    ///   - board: the board's name, of 1 to 128 bytes without `*` and control characters.
    ///   - choose: called on the scheduler with the input of each activation. Returns the board that must complete first,
    ///     or nil if none must. An error ends the activation as if the board itself had failed.
    ///   - bypassesGateway: true to request that no gateway stand before the board (Behaviour A7).
    ///   - begin: called on the scheduler for each run. It answers the run at once or later.
    /// - Returns: the served board. Its `unserve()` ends the serving. The caller may ignore it to serve the board until the
    ///   server stops.
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
        if let problem = BoardName.problem(about: board) { throw .name(problem) }
        served += 1
        // Negative, because sessions have positive numbers.
        let provider = ProgramBoard(board, number: -served, in: boards, choose, begin)
        do throws(ServingRefusal) {
            try boards.serve(board, serving, by: provider)
        } catch {
            throw .serving(error)
        }
        return provider
    }

    /// Serves a board whose runs are Swift tasks. The task is cancelled when the activation no longer waits for it. An
    /// error that the task throws is the board's answer.
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

    /// Activates a board (Behaviour A1).
    ///
    /// If the run of a barrier activates a board behind the same barrier, the activation fails with
    /// ``ActivationOutcome/cycle(_:)`` (Behaviour A8). The server recognises the circle only if the code that handles
    /// the run, or a task that this code started, makes the call.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - input: the board's input.
    ///   - mainboard: the mainboard whose barriers of scope `main` apply (Behaviour A3).
    ///   - timeout: the time that the process may take to answer a run, or nil for no limit.
    ///   - wait: the time to wait for a process that serves the board, or nil for no limit.
    ///   - then: called on the scheduler exactly once with the outcome, never before this method returns.
    /// - Returns: a handle that cancels the activation. Then `then` gets `withdrawn`.
    @discardableResult
    public func activate(
        _ board: String, input: DataItem = .null, mainboard: String = ProgramBoards.mainboard,
        timeout: Duration? = .seconds(30), wait: Duration? = .zero, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        var request = ActivationRequest(board: board, mainboard: mainboard)
        (request.input, request.timeout, request.wait) = (input, timeout, wait)
        request.within = BoardTask.activation
        let report = { [scheduler = boards.scheduler] outcome in scheduler.soon { then(outcome) } }
        // The limits of activations apply to clients only, so this call fails only if the service stops.
        guard !gate.isStopping, let activation = try? boards.activate(request, then: report) else {
            report(.withdrawn)
            return DisposeAction {}
        }
        return DisposeAction { [weak boards] in boards?.cancel(activation) }
    }
}

/// The reason why a program may not serve a board.
public enum BoardRefusal: Error, Sendable, Equatable {
    /// The name is invalid. The text says why.
    case name(String)
    /// The board cannot be served in this way, for example because another process serves it with another barrier.
    case serving(ServingRefusal)
}

/// A board that the embedding program serves (``ProgramBoards``). It lives on the server's scheduler.
public final class ProgramBoard: BoardProvider {
    /// The board's name.
    public let name: String
    let number: Int
    private weak var boards: Boards?
    private let choose: (DataItem) throws -> ActivationBarrier?
    private let handler: (BoardTask) -> Void
    /// The tasks of the runs in progress, by run number. The program owns the tasks.
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

    /// Stops serving the board. Runs that have begun may finish.
    public func unserve() {
        guard isServed else { return }
        isServed = false
        _ = boards?.unserve(name, by: number)
        leaveWhenIdle()
    }

    /// Stops serving the board at once, as if a process had disconnected. Activations that wait for an answer fail with
    /// `provider_lost`. Runs of the board as a barrier move to another provider (Behaviour A1, A6).
    public func withdraw() {
        isServed = false
        for run in tasks.keys.sorted() { cancel(run) }
        boards?.servingClientLeft(number)
    }

    // MARK: Requests to the provider

    /// A Boolean value that says whether the provider runs no board.
    var isIdle: Bool { tasks.isEmpty }
    /// False: the embedding program always takes runs.
    var isOverfull: Bool { false }

    func begin(_ run: BoardRun) {
        guard let boards else { return }
        // The closure keeps the task alive until it begins. It begins later, because the machine's other orders come
        // first.
        let task = BoardTask(run, scheduler: boards.scheduler) { [weak self] in self?.answered(run, $0) }
        tasks[run.run] = WeakTask(task: task)
        boards.scheduler.soon { [handler] in
            if task.isAwaited { BoardTask.$activation.withValue(run.activation) { handler(task) } }
        }
    }

    /// Calls the program's closure for the choice of the barrier, later: the machine's other orders come first.
    func chooseBarrier(for run: BoardRun) {
        boards?.scheduler.soon { [choose, weak boards] in
            let choice = Result { try choose(run.input) }.mapError { error in
                error as? ActivationFault ?? ActivationFault(message: "\(error)")
            }
            boards?.chose(run, choice)
        }
    }

    /// Ends a run whose answer is no longer needed.
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
        if !isServed && tasks.isEmpty { boards?.servingClientLeft(number) }
    }
}
