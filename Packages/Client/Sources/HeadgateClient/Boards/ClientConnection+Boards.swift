import HeadgateData
import HeadgateWire

extension ClientConnection {
    /// Serves a board until ``unserveBoard(_:then:)`` (Behaviour A1). When the connection is lost it is made again, and the
    /// board served again with it. A board that is served here already is replaced.
    /// - Parameters:
    ///   - board: its name.
    ///   - barrier: the board that has to complete first; all who serve the board have to say the same.
    ///   - bypassGateway: whether no gateway is to stand before it, if the daemon's settings allow that (Behaviour A7).
    ///   - tell: told on the loop, in order; `ended` comes once and last.
    public func serveBoard(
        _ board: String, barrier: BoardBarrier? = nil, bypassGateway: Bool = false,
        _ tell: @escaping (BoardNews) -> Void
    ) {
        if let former = boards[board] { abandon(former.call) }
        serve("board.run") { [weak self] params, request in self?.takeRun(params, request) }
        var params: DataObject = ["board": .string(board)]
        params["barrier"] = barrier.map { .object($0.object) }
        if bypassGateway { params["bypass_gateway"] = true }
        let call = reserve()
        boards[board] = ServedBoard(call: call, tell: tell)
        stand(call, "board.serve", params) { [weak self] in self?.board(board, call, $0, tell) }
    }

    /// Serves a board no more. Runs that come yet, and those that are here, are still to be answered.
    /// - Parameters:
    ///   - board: its name.
    ///   - then: called once nothing more comes, or the connection is gone.
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
        // After the call: without any, the connection would be let go.
        abandon(served.call)
    }

    private func board(_ board: String, _ call: Call, _ news: StandingNews, _ tell: (BoardNews) -> Void) {
        switch news {
        case .granted: tell(.began)
        case .interrupted(let error): tell(.interrupted(error))
        case .ended(let error):
            if boards[board]?.call == call {
                // Then its end is told when the daemon has let it go.
                guard boards[board]?.isEnding == false else { return }
                boards[board] = nil
            }
            tell(.ended(error))
        }
    }

    private func takeRun(_ params: JSONView?, _ request: DaemonRequest) {
        guard let activation = params.flatMap(BoardActivation.init) else {
            return request.fail(.invalidParams(path: "board", "must be a board's name"))
        }
        guard let served = boards[activation.board] else {
            return request.fail(RPCError(.notFound, "board \(activation.board) is not served here"))
        }
        served.tell(.run(activation, request))
    }
}

/// A board that this side serves.
struct ServedBoard {
    /// The call that stands for it.
    let call: ClientConnection.Call
    /// Whom to tell.
    let tell: (BoardNews) -> Void
    /// Whether it was ended, and what is on its way is still taken.
    var isEnding = false
}
