/// Barriers before boards (Behaviour A2–A6).
extension Activations {
    /// Whether a barrier need not be run for an activation: it just was, or its completion still counts.
    func hasCompleted(
        _ identity: CycleIdentity, _ barrier: ActivationBarrier, for activation: Activation
    ) -> Bool {
        if activation.completed.contains(identity) { return true }
        return barrier.sticky.map { completed.hasCompleted(identity, within: $0, at: now) } ?? false
    }

    /// Has an activation wait for a barrier: for the cycle under way, or for one that begins with it.
    mutating func hold(_ id: Int, by barrier: ActivationBarrier, _ identity: CycleIdentity) {
        let cycle = joinable[identity]
        guard let depth = depth(of: id, waitingFor: barrier.board, cycle) else { return }
        let waiter = Cycle.Waiter(activation: id, barrier: barrier)
        guard let cycle else { return start(identity, first: waiter, depth: depth) }
        cycles[cycle]?.join(waiter)
        activations[id]?.stage = .held(cycle: cycle)
        deepen(cycle, to: depth)
    }

    /// The first waiter starts the barrier, with its input (Behaviour A4).
    private mutating func start(_ identity: CycleIdentity, first waiter: Cycle.Waiter, depth: Int) {
        guard let activation = activations[waiter.activation] else { return }
        var request = ActivationRequest(board: identity.board, mainboard: activation.request.mainboard)
        request.input = activation.request.input
        request.isBarrier = true
        request.timeout = nil
        let cycle = add(request, .cycle, depth: depth)
        cycles[cycle] = Cycle(identity: identity, first: waiter)
        joinable[identity] = cycle
        activations[waiter.activation]?.stage = .held(cycle: cycle)
        deadlines.set(cycle, at: now + waiter.barrier.timeout)
        steps.append(.begin(cycle))
    }

    // MARK: The end of a cycle

    /// A barrier has ended: all who wait go on, in the order in which they came, or are cancelled. From here on whoever
    /// comes belongs to the next cycle.
    mutating func cycleEnded(_ number: Int, _ outcome: ActivationOutcome) {
        guard let cycle = close(number) else { return }
        let refusal = ActivationOutcome(refusal: outcome, by: cycle.identity.board)
        if refusal == nil, let sticky = cycle.sticky { completed.remember(cycle.identity, at: now, for: sticky) }
        for waiter in cycle.waiters { release(waiter, from: cycle, refusal) }
    }

    /// A barrier took too long (Behaviour A5).
    mutating func timeOut(cycle number: Int) {
        guard let cycle = close(number) else { return }
        remove(number)
        for waiter in cycle.waiters {
            let isPassed = waiter.barrier.onTimeout == .pass
            let refusal = ActivationOutcome.cancelled(barrier: cycle.identity.board, cause: .timeout)
            release(waiter, from: cycle, isPassed ? nil : refusal)
        }
    }

    /// One who waited is cancelled, or goes on and need not wait for the same again.
    private mutating func release(_ waiter: Cycle.Waiter, from cycle: Cycle, _ refusal: ActivationOutcome?) {
        if let refusal { return steps.append(.end(waiter.activation, refusal)) }
        activations[waiter.activation]?.completed.insert(cycle.identity)
        steps.append(.proceed(waiter.activation))
    }

    /// One who waited is gone; a cycle that nobody waits for is given up, and with it the one that it waits for, and so on:
    /// chains are short (Behaviour A8).
    mutating func leave(_ number: Int, _ activation: Int) {
        guard cycles[number]?.leave(activation) == true, close(number) != nil else { return }
        remove(number)
    }

    private mutating func close(_ number: Int) -> Cycle? {
        guard let cycle = cycles.removeValue(forKey: number) else { return nil }
        joinable[cycle.identity] = nil
        return cycle
    }
}

extension ActivationOutcome {
    /// What a barrier's end means to those who wait for it; nil when they may go on. Of barriers before barriers, the one
    /// that did not complete is told.
    fileprivate init?(refusal outcome: ActivationOutcome, by board: String) {
        switch outcome {
        case .completed(done: true, _): return nil
        case .completed(done: false, _), .failed: self = .cancelled(barrier: board, cause: .refused)
        case .notServed, .providerLost: self = .cancelled(barrier: board, cause: .providerLost)
        case .timedOut: self = .cancelled(barrier: board, cause: .timeout)
        case .cancelled, .circle, .givenUp: self = outcome
        }
    }
}
