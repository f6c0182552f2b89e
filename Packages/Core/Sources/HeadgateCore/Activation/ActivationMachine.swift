import HeadgateData

/// The state machine of all boards and their activations (Behaviour A1–A8): facts and the time go in, orders come out.
///
/// Connections have numbers. The result of an order is reported as another fact, at once or later. The machine forgets
/// ended activations, except for completed barriers with `sticky_ms`.
public struct ActivationMachine {
    public let limits: ActivationLimits
    /// The barriers that settings put before boards (Behaviour A7). A change applies to later activations.
    public var gateways = GatewayRules()

    private(set) var boards = Boards()
    private(set) var peers: [Int: ActivationPeer] = [:]
    /// The running activations.
    private(set) var activations: [Int: Activation] = [:]
    /// The running cycles by number.
    private(set) var cycles: [Int: Cycle] = [:]
    /// The cycles that further activations may join.
    private(set) var joinable: [CycleIdentity: Int] = [:]
    /// The activations that wait for a process to serve their board.
    private(set) var unserved = NameTable<Set<Int>>()
    /// The activation of each run.
    private(set) var runs: [Int: Int] = [:]
    private(set) var completed = CompletedBarriers()
    /// The deadlines of activations; those of cycles have the cycle's number.
    private(set) var deadlines = Deadlines<Int>()

    /// The steps that remain to be done for the present fact, in order.
    private(set) var steps: [Step] = []
    private(set) var orders: [ActivationOrder] = []
    private var now = Instant(nanoseconds: 0)
    private var lastActivation = 0
    private var lastRun = 0

    /// A step of one activation.
    enum Step {
        /// Begins the activation with this number, which is new or whose board a process now serves.
        case begin(Int)
        /// Continues the activation with this number, after a barrier before it has completed.
        case proceed(Int)
        /// Ends the activation with this number.
        case end(Int, ActivationOutcome)
    }

    public init(limits: ActivationLimits = ActivationLimits()) {
        self.limits = limits
    }

    /// The time at which ``timePassed(to:)`` is due; nil if there is no deadline.
    public var nextDeadline: Instant? {
        [deadlines.next, completed.nextDeadline].compactMap(\.self).min()
    }

    // MARK: Requests

    /// Begins an activation (Behaviour A1).
    /// - Returns: the activation's number, and the orders, which may include its end.
    public mutating func activate(
        _ request: ActivationRequest, at now: Instant
    ) throws(TooManyActivations) -> (activation: Int, orders: [ActivationOrder]) {
        let limit = limits.activationsPerConnection
        if let client = request.client, peers[client]?.activations.count ?? 0 >= limit {
            throw TooManyActivations(limit: limit)
        }
        let id = add(request, .asker, depth: 0)
        if let client = request.client { changePeer(client) { $0.activations.insert(id) } }
        steps.append(.begin(id))
        return (id, carryOut(at: now))
    }

    /// Cancels an activation for its requester.
    public mutating func cancel(_ activation: Int, at now: Instant) -> [ActivationOrder] {
        steps.append(.end(activation, .withdrawn))
        return carryOut(at: now)
    }

    /// Cancels the activations of a connection that has ended.
    public mutating func clientLeft(_ client: Int, at now: Instant) -> [ActivationOrder] {
        steps += (peers[client]?.activations.sorted() ?? []).map { .end($0, .withdrawn) }
        return carryOut(at: now)
    }

    // MARK: Time

    /// Processes the deadlines that are due.
    public mutating func timePassed(to now: Instant) -> [ActivationOrder] {
        completed.forgetDue(at: now)
        self.now = now
        while let id = deadlines.popDue(at: now) {
            expire(id)
            work()
        }
        return carryOut(at: now)
    }

    private mutating func expire(_ id: Int) {
        guard let activation = activations[id] else { return }
        switch (activation.purpose, activation.stage) {
        case (.cycle, _): timeOut(cycle: id)
        case (.asker, .unserved): steps.append(.end(id, .notServed))
        case (.asker, _): steps.append(.end(id, .timedOut))
        }
    }

    // MARK: Steps

    private mutating func carryOut(at now: Instant) -> [ActivationOrder] {
        self.now = now
        work()
        defer { orders = [] }
        return orders
    }

    private mutating func work() {
        var done = 0
        while done < steps.count {
            carryOut(steps[done])
            done += 1
        }
        steps = []
    }

    private mutating func carryOut(_ step: Step) {
        switch step {
        case .begin(let id): begin(id)
        case .proceed(let id): proceed(id)
        case .end(let id, let outcome): end(id, outcome)
        }
    }

    private mutating func changePeer(_ number: Int, _ change: (inout ActivationPeer) -> Void) {
        change(&peers[number, default: ActivationPeer()])
        if peers[number]?.isEmpty == true { peers[number] = nil }
    }
}

extension ActivationMachine {
    /// Records that a process serves a board, or changes how it serves it (Behaviour A1, A2).
    public mutating func serve(
        _ board: String, _ serving: BoardServing, by provider: Int, at now: Instant
    ) throws(ServingRefusal) -> [ActivationOrder] {
        let limit = limits.boardsPerConnection
        if let peer = peers[provider], !peer.boards.contains(board), peer.boards.count >= limit {
            throw .tooMany(limit)
        }
        if boards.differs(board, from: serving, besides: provider) { throw .differs }
        if let cycle = cycle(closedBy: board, serving) { throw .cycle(cycle) }
        boards.add(board, serving, by: provider)
        changePeer(provider) { $0.boards.insert(board) }
        for id in unserved.removeValue(forKey: board)?.sorted() ?? [] {
            deadlines.remove(id)
            steps.append(.begin(id))
        }
        return carryOut(at: now)
    }

    /// Records that a process no longer serves a board. It may still finish its present runs.
    /// - Returns: false if the process did not serve the board.
    public mutating func unserve(_ board: String, by provider: Int) -> Bool {
        guard peers[provider]?.boards.contains(board) == true else { return false }
        changePeer(provider) { $0.boards.remove(board) }
        boards.remove(board, by: provider)
        return true
    }

    /// Records that a process no longer serves any board. It may still finish its present runs.
    /// - Returns: false if the process served no board.
    public mutating func unserveAll(by provider: Int) -> Bool {
        guard let boards = peers[provider]?.boards, !boards.isEmpty else { return false }
        for board in boards { _ = unserve(board, by: provider) }
        return true
    }

    /// Records that a process has disconnected. Other processes take over the barriers that it was running (Behaviour
    /// A6).
    public mutating func servingClientLeft(_ provider: Int, at now: Instant) -> [ActivationOrder] {
        guard let peer = peers[provider] else { return [] }
        changePeer(provider) { ($0.boards, $0.runs) = (NameSet(), []) }
        for board in peer.boards { boards.remove(board, by: provider) }
        for run in peer.runs.sorted() {
            guard let id = runs.removeValue(forKey: run), let activation = activations[id] else { continue }
            steps.append(activation.request.isBarrier ? .proceed(id) : .end(id, .providerLost))
        }
        return carryOut(at: now)
    }

    /// Returns true if a process serves a board.
    public func isServed(_ board: String) -> Bool {
        boards.serving(board) != nil
    }

    /// The boards that request a gateway bypass and have a gateway nevertheless (Behaviour A7).
    public var deniedBypasses: [String] {
        guard !gateways.allowsBypass else { return [] }
        return boards.names.filter {
            boards.serving($0)?.bypassesGateway == true && gateways.barrier(before: $0) != nil
        }
    }

    // MARK: Barriers before a board

    /// Returns the barriers before a board: the gateway first, then the board's own (Behaviour A7). A board is never
    /// its own barrier (Behaviour A8).
    func barriers(before board: String, _ serving: BoardServing) -> [ActivationBarrier] {
        let bypasses = serving.bypassesGateway && gateways.allowsBypass
        let gateway = bypasses ? nil : gateways.barrier(before: board)
        return [gateway, serving.fixedBarrier].compactMap(\.self).filter { ExactName($0.board) != ExactName(board) }
    }

    /// Returns the cycle in which boards would wait for each other if this board were served like this, or nil if there
    /// is none (Behaviour A8). A board that no process serves waits for nothing; it is checked when a process serves
    /// it.
    private func cycle(closedBy board: String, _ serving: BoardServing) -> [String]? {
        BoardCycle.path(from: board) { name in
            guard let serving = ExactName(name) == ExactName(board) ? serving : boards.serving(name) else { return [] }
            return barriers(before: name, serving).map(\.board)
        }
    }
}

/// The stages of an activation: it waits for its board to be served, then for each barrier, then for its process, and
/// ends.
extension ActivationMachine {
    private mutating func add(_ request: ActivationRequest, _ purpose: Activation.Purpose, depth: Int) -> Int {
        lastActivation += 1
        let activation = Activation(id: lastActivation, request: request, purpose: purpose, depth: depth)
        activations[activation.id] = activation
        return activation.id
    }

    private mutating func begin(_ id: Int) {
        guard let request = activations[id]?.request else { return }
        guard let serving = boards.serving(request.board) else { return awaitProvider(id, request) }
        let barriers = barriers(before: request.board, serving)
        let choice = serving.barrier == .chosen ? [Activation.Step.choice] : []
        activations[id]?.ahead = (barriers.map { .barrier($0) } + choice)[...]
        proceed(id)
    }

    private mutating func awaitProvider(_ id: Int, _ request: ActivationRequest) {
        guard request.wait != .zero else { return end(id, .notServed) }
        unserved[request.board, default: []].insert(id)
        if let wait = request.wait { deadlines.set(id, at: now + wait) }
    }

    private mutating func proceed(_ id: Int) {
        while let activation = activations[id] {
            switch activation.ahead.first {
            case nil: return run(id)
            case .choice: return choose(id)
            case .barrier(let barrier):
                activations[id]?.ahead.removeFirst()
                let identity = CycleIdentity(barrier, before: activation)
                if !hasCompleted(identity, barrier, for: activation) { return hold(id, by: barrier, identity) }
            }
        }
    }

    private mutating func end(_ id: Int, _ outcome: ActivationOutcome) {
        guard let activation = remove(id) else { return }
        switch activation.purpose {
        case .asker: orders.append(.end(activation: id, outcome))
        case .cycle: cycleEnded(id, outcome)
        }
    }

    /// Removes an activation from all tables.
    @discardableResult
    private mutating func remove(_ id: Int) -> Activation? {
        guard let activation = activations.removeValue(forKey: id) else { return nil }
        deadlines.remove(id)
        if let client = activation.request.client { changePeer(client) { $0.activations.remove(id) } }
        switch activation.stage {
        case .unserved: stopAwaiting(activation)
        case .held(let cycle): leave(cycle, id)
        case .choosing(let run, let provider), .running(let run, let provider):
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

/// Barriers before boards (Behaviour A2–A6).
extension ActivationMachine {
    /// Returns true if a barrier need not be run for an activation: it has completed for it, or a sticky completion is
    /// still valid.
    private func hasCompleted(
        _ identity: CycleIdentity, _ barrier: ActivationBarrier, for activation: Activation
    ) -> Bool {
        if activation.completed.contains(identity) { return true }
        return barrier.sticky.map { completed.hasCompleted(identity, within: $0, at: now) } ?? false
    }

    /// Makes an activation wait for a barrier: it joins the running cycle, or begins one.
    private mutating func hold(_ id: Int, by barrier: ActivationBarrier, _ identity: CycleIdentity) {
        let cycle = joinable[identity]
        guard let depth = depth(of: id, waitingFor: barrier.board, cycle) else { return }
        let waiter = Cycle.Waiter(activation: id, barrier: barrier)
        guard let cycle else { return start(identity, first: waiter, depth: depth) }
        cycles[cycle]?.join(waiter)
        activations[id]?.stage = .held(cycle: cycle)
        deepen(cycle, to: depth)
    }

    /// Begins a cycle. The barrier gets the input of its first waiter (Behaviour A4).
    private mutating func start(_ identity: CycleIdentity, first waiter: Cycle.Waiter, depth: Int) {
        guard let activation = activations[waiter.activation] else { return }
        var request = ActivationRequest(board: identity.board, mainboard: activation.request.mainboard)
        request.input = activation.request.input
        (request.comparedInput, request.inputText) = (activation.request.comparedInput, activation.request.inputText)
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

    /// Ends a cycle: all waiting activations continue in order, or are cancelled. Later activations belong to the next
    /// cycle.
    private mutating func cycleEnded(_ number: Int, _ outcome: ActivationOutcome) {
        guard let cycle = close(number) else { return }
        let refusal = ActivationOutcome(refusal: outcome, by: cycle.identity.board)
        if refusal == nil, let sticky = cycle.sticky { completed.remember(cycle.identity, at: now, for: sticky) }
        for waiter in cycle.waiters { release(waiter, from: cycle, refusal) }
    }

    /// Ends a cycle that has timed out (Behaviour A5).
    private mutating func timeOut(cycle number: Int) {
        guard let cycle = close(number) else { return }
        remove(number)
        for waiter in cycle.waiters {
            let isPassed = waiter.barrier.onTimeout == .pass
            let refusal = ActivationOutcome.cancelled(barrier: cycle.identity.board, cause: .timeout)
            release(waiter, from: cycle, isPassed ? nil : refusal)
        }
    }

    /// Cancels a waiting activation, or lets it continue without waiting for the same cycle again.
    private mutating func release(_ waiter: Cycle.Waiter, from cycle: Cycle, _ refusal: ActivationOutcome?) {
        if let refusal { return steps.append(.end(waiter.activation, refusal)) }
        activations[waiter.activation]?.completed.insert(cycle.identity)
        steps.append(.proceed(waiter.activation))
    }

    /// Removes a waiting activation from a cycle. A cycle without waiters is cancelled, and so is the cycle that it
    /// waits for in turn; chains are short (Behaviour A8).
    private mutating func leave(_ number: Int, _ activation: Int) {
        guard cycles[number]?.leave(activation) == true, close(number) != nil else { return }
        remove(number)
    }

    private mutating func close(_ number: Int) -> Cycle? {
        guard let cycle = cycles.removeValue(forKey: number) else { return nil }
        joinable[cycle.identity] = nil
        return cycle
    }
}

extension ActivationMachine {
    /// Processes the answer of a process. An answer that is no longer expected is ignored (Behaviour A5).
    public mutating func answered(
        _ run: Int, by provider: Int, with answer: BoardAnswer, at now: Instant
    ) -> [ActivationOrder] {
        guard let id = runs[run], activations[id]?.stage == .running(run: run, provider: provider) else { return [] }
        _ = finish(run, of: provider)
        steps.append(.end(id, ActivationOutcome(answer)))
        return carryOut(at: now)
    }

    /// Processes a process's choice of a barrier. An error ends the activation. A late choice, or one of another
    /// process, is ignored (Behaviour A2, A5).
    public mutating func chose(
        _ run: Int, by provider: Int, _ choice: Result<ActivationBarrier?, ActivationFault>, at now: Instant
    ) -> [ActivationOrder] {
        guard let id = runs[run], activations[id]?.stage == .choosing(run: run, provider: provider) else { return [] }
        _ = finish(run, of: provider)
        switch choice {
        case .failure(let fault): steps.append(.end(id, .failed(fault)))
        case .success(let barrier): chose(id, barrier)
        }
        return carryOut(at: now)
    }

    /// Applies a choice. The time limit of the choice ends; the barrier and the run have their own.
    private mutating func chose(_ id: Int, _ barrier: ActivationBarrier?) {
        guard let request = activations[id]?.request else { return }
        if request.timeout != nil { deadlines.remove(id) }
        let held = [barrier].compactMap(\.self).filter { ExactName($0.board) != ExactName(request.board) }
        activations[id]?.ahead = held.map { .barrier($0) }[...]
        steps.append(.proceed(id))
    }

    /// Asks a process to choose the activation's barrier, after the gateway has completed.
    private mutating func choose(_ id: Int) {
        guard let run = ask(id) else { return }
        activations[id]?.stage = .choosing(run: run.run, provider: run.provider)
        orders.append(.choose(run))
    }

    /// Asks a process to run the board, after all barriers have completed.
    private mutating func run(_ id: Int) {
        guard let run = ask(id) else { return }
        activations[id]?.stage = .running(run: run.run, provider: run.provider)
        orders.append(.run(run))
    }

    /// Selects the process to ask, and starts its time limit. If no process serves the board, the activation ends and
    /// the result is nil.
    private mutating func ask(_ id: Int) -> BoardRun? {
        guard let activation = activations[id] else { return nil }
        let chosen = boards.choose(for: activation.request.board) { [peers] in peers[$0]?.runs.count ?? 0 }
        guard let provider = chosen else {
            end(id, .providerLost)
            return nil
        }
        lastRun += 1
        runs[lastRun] = id
        changePeer(provider) { [lastRun] in $0.runs.insert(lastRun) }
        if let timeout = activation.request.timeout, !deadlines.contains(id) { deadlines.set(id, at: now + timeout) }
        return BoardRun(lastRun, of: activation, by: provider)
    }

    /// Removes a run whose answer is no longer expected.
    /// - Returns: the activation of the run; nil if there was none.
    private mutating func finish(_ run: Int, of provider: Int) -> Int? {
        guard let id = runs.removeValue(forKey: run) else { return nil }
        changePeer(provider) { $0.runs.remove(run) }
        return id
    }
}

/// The depth of chains of waiting boards (Behaviour A8). An activation that would wait too deep, or for itself, fails
/// alone; the cycles that it shares continue for the others.
extension ActivationMachine {
    private var chains: ActivationChains { ActivationChains(activations: activations, cycles: cycles, peers: peers) }

    /// Returns the depth at which a barrier runs when an activation waits for it. Requested activations that would be
    /// too deep are ended.
    /// - Parameters:
    ///   - id: the activation that waits.
    ///   - board: the barrier's board.
    ///   - cycle: the barrier's running cycle; nil if one is about to begin.
    /// - Returns: the depth, or nil if no requested activation is left that waits for the barrier.
    private mutating func depth(of id: Int, waitingFor board: String, _ cycle: Int?) -> Int? {
        let ahead = cycle.map { chains.chain(from: $0, to: id) } ?? []
        endActivationsWithinRun(of: ahead, at: id)
        guard let activation = activations[id] else { return nil }
        let isCycle = ahead.last == id
        let deepest = isCycle ? -1 : limits.depth - max(ahead.count, 1)
        if activation.depth <= deepest { return activation.depth + 1 }
        let boards = ahead.isEmpty ? [board] : chains.boards(of: ahead)
        var depth: Int?
        for path in chains.paths(to: id) {
            if path.count - 1 <= deepest { depth = max(depth ?? 0, path.count) } else { fail(path, before: boards) }
        }
        return depth
    }

    /// Increases the depth of a cycle, and of all cycles that it waits for, when an activation at this depth joins it.
    private mutating func deepen(_ cycle: Int, to depth: Int) {
        for (index, id) in chains.chain(from: cycle).enumerated() {
            guard let known = activations[id]?.depth, known < depth + index else { continue }
            activations[id]?.depth = depth + index
        }
    }

    /// Ends the activations that would wait for the run that requested them: the process of a barrier has activated a
    /// board that this barrier holds (Behaviour A8).
    private mutating func endActivationsWithinRun(of ahead: [Int], at id: Int) {
        guard !ahead.isEmpty else { return }
        for path in chains.paths(to: id) where chains.isWithinRun(path[0], of: ahead) {
            let boards = chains.boards(of: path)
            end(
                path[0], .cycle(Array((boards + chains.boards(of: ahead) + boards.prefix(1)).prefix(limits.depth + 2)))
            )
        }
    }

    /// Ends an activation with the list of boards up to the first that is too deep or repeats.
    private mutating func fail(_ path: [Int], before ahead: [String]) {
        let boards = chains.boards(of: path)
        let count = ahead.firstIndex(where: boards.contains).map { $0 + 1 } ?? ahead.count
        end(path[0], .cycle(Array((boards + ahead.prefix(count)).prefix(limits.depth + 2))))
    }
}
