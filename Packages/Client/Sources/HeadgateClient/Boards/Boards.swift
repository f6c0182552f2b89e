import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// A function that runs a board.
    public typealias Run = @Sendable (BoardActivation) async throws -> BoardOutcome

    /// Serves a board (Behaviour A1), until the task is cancelled.
    ///
    /// The board is served again after a restart of the daemon. Each run is a task of its own. A run that throws
    /// fails the activation (`cancelled`, with the error's text). Cancelling the task cancels the runs, whose
    /// outcomes still count.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - barrier: the board that must complete first. All processes that serve the board must give the same
    ///     barrier.
    ///   - bypassGateway: true if activations pass no gateway, where the daemon's settings allow that (Behaviour A7).
    ///   - onNews: called in order when the daemon has the board and when the connection is lost. It must not block.
    ///   - run: runs the board.
    /// - Throws: ``ClientError`` if the daemon refuses the board or does not come back in the time of the options, or
    ///   if the client already serves the board; `CancellationError` if the task was cancelled.
    public func serve(
        _ board: String, barrier: BoardBarrier? = nil, bypassGateway: Bool = false,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in }, _ run: @escaping Run
    ) async throws {
        try await serve(board, .fixed(barrier), bypassGateway, onNews, run) { _ in nil }
    }

    /// Serves a board whose barrier is chosen for each activation (Behaviour A2), until the task is cancelled.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - bypassGateway: true if activations pass no gateway, where the daemon's settings allow that (Behaviour A7).
    ///   - onNews: called in order when the daemon has the board and when the connection is lost. It must not block.
    ///   - choose: returns the board that must complete before an activation, or nil for none. An error fails the
    ///     activation. It has the time of the activation's `timeout_ms`.
    ///   - run: runs the board.
    /// - Throws: the errors of the function with one barrier.
    public func serve(
        _ board: String, bypassGateway: Bool = false,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in },
        choosing choose: @escaping @Sendable (BarrierChoice) async throws -> BoardBarrier?, _ run: @escaping Run
    ) async throws {
        try await serve(board, .chosen, bypassGateway, onNews, run, choose)
    }

    private func serve(
        _ board: String, _ barrier: ServedBarrier, _ bypassGateway: Bool,
        _ onNews: @escaping @Sendable (ServingNews) -> Void, _ run: @escaping Run,
        _ choose: @escaping @Sendable (BarrierChoice) async throws -> BoardBarrier?
    ) async throws {
        guard connection.boards[board]?.isEnding ?? true else {
            throw ClientError.refused(RPCError(.conflict, "this client already serves board \(board)"))
        }
        let queue = ServingQueue<BoardJob>()
        connection.serveBoard(board, barrier: barrier, bypassGateway: bypassGateway) { news in
            switch news {
            case .began: onNews(.began)
            case .interrupted(let error): onNews(.interrupted(error))
            case .run(let activation, let request): queue.put(.run(activation), request)
            case .choose(let choice, let request): queue.put(.choose(choice), request)
            case .ended(let error): queue.finish(error)
            }
        }
        defer { connection.unserveBoard(board) }
        try await withThrowingDiscardingTaskGroup { group in
            for try await ticket in queue.tickets {
                group.addTask {
                    do {
                        switch ticket.job {
                        case .run(let activation):
                            await self.complete(ticket, try await self.handle { try await run(activation) })
                        case .choose(let choice):
                            await self.choose(ticket, try await self.handle { try await choose(choice) })
                        }
                    } catch {
                        await self.giveBack(ticket, error)
                    }
                }
            }
        }
        try Task.checkCancellation()
    }

    /// Activates a board, and waits for its outcome (Behaviour A1).
    /// - Parameters:
    ///   - board: the board's name.
    ///   - input: the input; nil for none.
    ///   - mainboard: the mainboard whose barriers count; nil is this connection's namespace.
    ///   - timeout: the longest time of the run, in whole milliseconds; nil is the daemon's 30 seconds.
    ///   - wait: the longest wait for a process that serves the board, in whole milliseconds; nil is none.
    ///   - deadline: the longest wait for the answer; nil waits for ever.
    /// - Throws: ``ClientError``; `refused` with the reason `cancelled` if a barrier did not complete, with `barrier`
    ///   and `cause` in the error's data; `not_found`, `provider_lost`, `timeout`, `activation_cycle`.
    @discardableResult
    public func activate(
        _ board: String, input: DataItem? = nil, mainboard: String? = nil, timeout: Duration? = nil,
        wait: Duration? = nil, deadline: Duration? = nil
    ) async throws -> BoardOutcome {
        var params: DataObject = ["board": .string(board)]
        params["input"] = input
        params["mainboard"] = mainboard.map { .string($0) }
        params["timeout_ms"] = timeout.map { .number(DataNumber(Int($0.milliseconds))) }
        params["wait_ms"] = wait.map { .number(DataNumber(Int($0.milliseconds))) }
        return try BoardOutcome(await object("board.activate", params, deadline))
    }

    /// A request of the daemon to a board's process.
    private enum BoardJob {
        case run(BoardActivation)
        case choose(BarrierChoice)
    }

    private func complete(_ ticket: ServingQueue<BoardJob>.Ticket, _ outcome: BoardOutcome) {
        ticket.request.complete(outcome)
    }

    private func choose(_ ticket: ServingQueue<BoardJob>.Ticket, _ barrier: BoardBarrier?) {
        ticket.request.choose(barrier)
    }

    private func giveBack(_ ticket: ServingQueue<BoardJob>.Ticket, _ error: any Error) {
        ticket.request.giveBack("\(error)")
    }
}
