/// An activation's way: it waits for its board to be served, then for each barrier, then for its process, and ends.
extension Activations {
    mutating func add(_ request: ActivationRequest, _ purpose: Activation.Purpose, depth: Int) -> Int {
        lastActivation += 1
        let activation = Activation(id: lastActivation, request: request, purpose: purpose, depth: depth)
        activations[activation.id] = activation
        return activation.id
    }

    mutating func begin(_ id: Int) {
        guard let request = activations[id]?.request else { return }
        guard let serving = boards.serving(request.board) else { return awaitProvider(id, request) }
        let barriers = barriers(before: request.board, serving)
        activations[id]?.barriers = barriers[...]
        proceed(id)
    }

    private mutating func awaitProvider(_ id: Int, _ request: ActivationRequest) {
        guard request.wait != .zero else { return end(id, .notServed) }
        unserved[request.board, default: []].insert(id)
        if let wait = request.wait { deadlines.set(id, at: now + wait) }
    }

    mutating func proceed(_ id: Int) {
        while let barrier = activations[id]?.barriers.popFirst(), let activation = activations[id] {
            let identity = CycleIdentity(barrier, before: activation)
            if !hasCompleted(identity, barrier, for: activation) { return hold(id, by: barrier, identity) }
        }
        run(id)
    }

    mutating func end(_ id: Int, _ outcome: ActivationOutcome) {
        guard let activation = remove(id) else { return }
        switch activation.purpose {
        case .asker: orders.append(.end(activation: id, outcome))
        case .cycle: cycleEnded(id, outcome)
        }
    }

    /// Lets go of all that an activation holds.
    @discardableResult
    mutating func remove(_ id: Int) -> Activation? {
        guard let activation = activations.removeValue(forKey: id) else { return nil }
        deadlines.remove(id)
        if let client = activation.request.client { changePeer(client) { $0.activations.remove(id) } }
        switch activation.stage {
        case .unserved: stopAwaiting(activation)
        case .held(let cycle): leave(cycle, id)
        case .running(let run, let provider):
            if finish(run, of: provider) != nil { orders.append(.withdraw(run: run, provider: provider)) }
        }
        return activation
    }

    private mutating func stopAwaiting(_ activation: Activation) {
        let board = activation.request.board
        unserved[board]?.remove(activation.id)
        if unserved[board]?.isEmpty == true { unserved[board] = nil }
    }
}
