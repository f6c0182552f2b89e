import HeadgateCore
import HeadgateData

/// Boards as the program around the server serves and activates them (Behaviour A1), without a client to itself. They are
/// what those of clients are: barriers and gateways stand before them, and either side may be a client.
///
///     configuration.onStart = { started in
///         try started.boards.serve("welcome") { $0.complete() }
///     }
///
/// It lives on the server's worker; ``Server/activate(_:input:mainboard:timeout:wait:)`` is for all other threads.
public final class ProgramBoards {
    /// Whose barriers of scope `main` stand before what the program activates, where it does not say (Behaviour A3).
    public static let mainboard = "program"

    private let desk: BoardDesk
    private let gate: Headgate
    private var served = 0

    init(desk: BoardDesk, gate: Headgate) {
        self.desk = desk
        self.gate = gate
    }

    /// Serves a board, as a process of its own would.
    /// - Parameters:
    ///   - board: its name, of 1 to 128 bytes without `*` and control characters.
    ///   - barrier: the board that has to complete before it (Behaviour A2).
    ///   - bypassesGateway: whether it asks that no gateway stand before it (Behaviour A7).
    ///   - begin: called on the worker for each run, which is to be answered at once or later.
    /// - Returns: what ends it; to be dropped where it is served as long as the server runs.
    @discardableResult
    public func serve(
        _ board: String, behind barrier: ActivationBarrier? = nil, bypassesGateway: Bool = false,
        _ begin: @escaping (BoardTask) -> Void
    ) throws(BoardRefusal) -> ProgramBoard {
        if let complaint = BoardName.complaint(about: board) { throw .name(complaint) }
        served += 1
        // Sessions have positive numbers.
        let provider = ProgramBoard(board, number: -served, desk: desk, begin)
        do throws(ServingRefusal) {
            try desk.serve(board, BoardServing(barrier: barrier, bypassesGateway: bypassesGateway), by: provider)
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
        let queue = WorkerQueue(desk.worker)
        return try serve(board, behind: barrier, bypassesGateway: bypassesGateway) { task in
            task.begin(on: queue, run)
        }
    }

    /// Activates a board (Behaviour A1).
    /// - Parameters:
    ///   - board: its name.
    ///   - input: what it is given.
    ///   - mainboard: whose barriers of scope `main` stand before it (Behaviour A3).
    ///   - timeout: how long its process may take to answer, from when it was asked; nil: as long as it takes.
    ///   - wait: how long to wait for somebody who serves it; nil: as long as it takes.
    ///   - then: told what came of it on the worker, exactly once and later.
    /// - Returns: what gives it up, after which `then` is told `givenUp`.
    @discardableResult
    public func activate(
        _ board: String, input: DataItem = .null, mainboard: String = ProgramBoards.mainboard,
        timeout: Duration? = .seconds(30), wait: Duration? = .zero, then: @escaping (ActivationOutcome) -> Void
    ) -> any Disposable {
        var request = ActivationRequest(board: board, mainboard: mainboard)
        (request.input, request.timeout, request.wait) = (input, timeout, wait)
        let tell = { [worker = desk.worker] outcome in worker.soon { then(outcome) } }
        // The service itself is held to no limit, so that nothing but a stop refuses it.
        guard !gate.isStopping, let activation = try? desk.activate(request, then: tell) else {
            tell(.givenUp)
            return DisposeAction {}
        }
        return DisposeAction { [weak desk] in desk?.cancel(activation) }
    }
}

/// Why a program may not serve a board.
public enum BoardRefusal: Error, Sendable, Equatable {
    /// What is wrong with its name, for people.
    case name(String)
    /// What others serve does not go with it.
    case serving(ServingRefusal)
}
