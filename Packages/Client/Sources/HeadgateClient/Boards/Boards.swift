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

extension ClientConnection {
    /// Serves a board until ``unserveBoard(_:then:)`` (Behaviour A1), also on later connections. Replaces an earlier
    /// call for the same board.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - barrier: the board that must complete first. All processes that serve the board must give the same
    ///     barrier.
    ///   - bypassGateway: true if activations pass no gateway, where the daemon's settings allow that (Behaviour A7).
    ///   - tell: called on the loop, in order; `ended` comes once and last.
    public func serveBoard(
        _ board: String, barrier: ServedBarrier = .fixed(nil), bypassGateway: Bool = false,
        _ tell: @escaping (BoardNews) -> Void
    ) {
        if let former = boards[board] { abandon(former.call) }
        serve("board.run") { [weak self] params, request in
            self?.take(params.flatMap(BoardActivation.init), \.board, request) { .run($0, request) }
        }
        serve("board.barrier") { [weak self] params, request in
            self?.take(params.flatMap(BarrierChoice.init), \.board, request) { .choose($0, request) }
        }
        var params: DataObject = ["board": .string(board)]
        params["barrier"] = barrier.item
        if bypassGateway { params["bypass_gateway"] = true }
        let call = reserve()
        boards[board] = ServedBoard(call: call, tell: tell)
        stand(call, "board.serve", params, as: "board \(board)") { [weak self] in self?.board(board, call, $0, tell) }
    }

    /// Serves a board no longer. Runs that are here, or still come, need their answers.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - then: called when no more runs come, or the connection is lost.
    public func unserveBoard(_ board: String, then: @escaping () -> Void = {}) {
        guard let served = boards[board] else { return then() }
        guard isConnected else {
            abandon(served.call)
            return then()
        }
        boards[board]?.isEnding = true
        call("board.unserve", ["board": .string(board)]) { [weak self] _ in
            if self?.boards[board]?.call == served.call { self?.boards[board] = nil }
            served.tell(.ended(CancellationError()))
            then()
        }
        // The call above comes first: without any call the connection would be closed.
        abandon(served.call)
    }

    private func board(_ board: String, _ call: Call, _ news: StandingNews, _ tell: (BoardNews) -> Void) {
        switch news {
        case .granted: tell(.began)
        case .interrupted(let error): tell(.interrupted(error))
        case .ended(let error):
            if boards[board]?.call == call {
                // An ending board reports its end when the daemon has answered.
                guard boards[board]?.isEnding == false else { return }
                boards[board] = nil
            }
            tell(.ended(error))
        }
    }

    private func take<Job>(
        _ job: Job?, _ board: (Job) -> String, _ request: DaemonRequest, _ news: (Job) -> BoardNews
    ) {
        guard let job else { return request.fail(.invalidParams(path: "board", "must be a board's name")) }
        guard let served = boards[board(job)] else {
            return request.fail(RPCError(.notFound, "this client does not serve board \(board(job))"))
        }
        served.tell(news(job))
    }
}

/// A board that this client serves.
struct ServedBoard {
    /// The persistent call of the board.
    fileprivate let call: ClientConnection.Call
    /// The caller.
    fileprivate let tell: (BoardNews) -> Void
    /// True once it was ended. Runs that still come are taken.
    fileprivate(set) var isEnding = false
}
