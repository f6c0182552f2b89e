extension Activations {
    /// A process serves a board from now on, or says anew how (Behaviour A1, A2).
    public mutating func serve(
        _ board: String, _ serving: BoardServing, by provider: Int, at now: Instant
    ) throws(ServingRefusal) -> [ActivationOrder] {
        let limit = limits.boardsPerConnection
        if let peer = peers[provider], !peer.boards.contains(board), peer.boards.count >= limit {
            throw .tooMany(limit)
        }
        if boards.differs(board, from: serving, besides: provider) { throw .differs }
        if let circle = circle(closedBy: board, serving) { throw .circle(circle) }
        boards.add(board, serving, by: provider)
        changePeer(provider) { $0.boards.insert(board) }
        for id in unserved.removeValue(forKey: board)?.sorted() ?? [] {
            deadlines.remove(id)
            steps.append(.begin(id))
        }
        return carryOut(at: now)
    }

    /// A process serves a board no more. What it is running it may still finish.
    /// - Returns: false when it does not serve it.
    public mutating func unserve(_ board: String, by provider: Int) -> Bool {
        guard peers[provider]?.boards.contains(board) == true else { return false }
        changePeer(provider) { $0.boards.remove(board) }
        boards.remove(board, by: provider)
        return true
    }

    /// A process serves no board any more. What it is running it may still finish.
    /// - Returns: false when it serves none.
    public mutating func unserveAll(by provider: Int) -> Bool {
        guard let boards = peers[provider]?.boards, !boards.isEmpty else { return false }
        for board in boards { _ = unserve(board, by: provider) }
        return true
    }

    /// Nothing comes from a process any more: other processes take over the barriers that it ran (Behaviour A6).
    public mutating func providerLeft(_ provider: Int, at now: Instant) -> [ActivationOrder] {
        guard let peer = peers[provider] else { return [] }
        changePeer(provider) { ($0.boards, $0.runs) = ([], []) }
        for board in peer.boards { boards.remove(board, by: provider) }
        for run in peer.runs.sorted() {
            guard let id = runs.removeValue(forKey: run), let activation = activations[id] else { continue }
            steps.append(activation.request.isBarrier ? .proceed(id) : .end(id, .providerLost))
        }
        return carryOut(at: now)
    }

    /// Whether anybody serves a board.
    public func isServed(_ board: String) -> Bool {
        boards.serving(board) != nil
    }

    /// The boards that ask that no gateway stand before them, and have one all the same (Behaviour A7).
    public var deniedBypasses: [String] {
        guard !gateways.allowsBypass else { return [] }
        return boards.names.filter {
            boards.serving($0)?.bypassesGateway == true && gateways.barrier(before: $0) != nil
        }
    }

    // MARK: What stands before a board

    /// Gateway first, then the board's own (Behaviour A7). A barrier's own board is never held by itself: served behind
    /// itself, it just runs (Behaviour A8).
    func barriers(before board: String, _ serving: BoardServing) -> [ActivationBarrier] {
        let bypasses = serving.bypassesGateway && gateways.allowsBypass
        let gateway = bypasses ? nil : gateways.barrier(before: board)
        return [gateway, serving.barrier].compactMap(\.self).filter { $0.board != board }
    }

    /// The circle that boards would wait in if this one were served so (Behaviour A8). A board that nobody serves waits for
    /// nothing: whoever serves it later is looked at then.
    private func circle(closedBy board: String, _ serving: BoardServing) -> [String]? {
        BoardCircle.path(from: board) { name in
            guard let serving = name == board ? serving : boards.serving(name) else { return [] }
            return barriers(before: name, serving).map(\.board)
        }
    }
}
