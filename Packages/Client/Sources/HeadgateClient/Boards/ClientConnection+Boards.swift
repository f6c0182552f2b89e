import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Serves a board until ``unserveBoard(_:then:)`` (Behaviour A1), also on later connections. Replaces an earlier
    /// call for the same board.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - barrier: the board that must complete first. All processes that serve the board must give the same
    ///     barrier.
    ///   - bypassGateway: true if activations pass no gateway, where the daemon's settings allow that (Behaviour A7).
    ///   - notify: called on the loop, in order; `ended` comes once and last.
    public func serveBoard(
        _ board: String, barrier: ServedBarrier = .fixed(nil), bypassGateway: Bool = false,
        _ notify: @escaping (BoardNews) -> Void
    ) {
        if let former = boards[board] { cancel(former.call) }
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
        boards[board] = ServedBoard(call: call, notify: notify)
        stand(call, "board.serve", params, as: "board \(board)") { [weak self] in self?.board(board, call, $0, notify) }
    }

    /// Stops serving a board. The program must still answer the runs that it has received, and those that still arrive.
    /// - Parameters:
    ///   - board: the board's name.
    ///   - then: called when no more runs come, or the connection is lost.
    public func unserveBoard(_ board: String, then: @escaping () -> Void = {}) {
        guard let served = boards[board] else { return then() }
        guard isConnected else {
            cancel(served.call)
            return then()
        }
        boards[board]?.isEnding = true
        call("board.unserve", ["board": .string(board)]) { [weak self] _ in
            if self?.boards[board]?.call == served.call { self?.boards[board] = nil }
            served.notify(.ended(CancellationError()))
            then()
        }
        // The call above is made first: the client closes a connection without calls.
        cancel(served.call)
    }

    private func board(_ board: String, _ call: Call, _ news: PersistentCallNews, _ notify: (BoardNews) -> Void) {
        switch news {
        case .granted: notify(.began)
        case .interrupted(let error): notify(.interrupted(error))
        case .ended(let error):
            if boards[board]?.call == call {
                // A board that is being ended reports its end when the daemon has answered `board.unserve`.
                guard boards[board]?.isEnding == false else { return }
                boards[board] = nil
            }
            notify(.ended(error))
        }
    }

    private func take<Job>(
        _ job: Job?, _ board: (Job) -> String, _ request: DaemonRequest, _ news: (Job) -> BoardNews
    ) {
        guard let job else { return request.fail(.invalidParams(path: "board", "must be a board's name")) }
        guard let served = boards[board(job)] else {
            return request.fail(RPCError(.notFound, "this client does not serve board \(board(job))"))
        }
        served.notify(news(job))
    }
}
