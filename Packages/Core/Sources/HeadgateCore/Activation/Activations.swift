import HeadgateData

/// All boards, and all activations of them (Behaviour A1–A8): facts and the time go in, orders come out.
///
/// Connections are told apart by numbers. Whatever an order leads to is told by another fact, at once or later. Nothing is
/// remembered of an activation that has ended, except for the barriers with `sticky_ms`.
public struct Activations {
    public let limits: ActivationLimits
    /// What settings put before boards (Behaviour A7). A change counts for those who come after it.
    public var gateways = GatewayRules()

    private(set) var boards = Boards()
    private(set) var peers: [Int: ActivationPeer] = [:]
    /// Those under way.
    private(set) var activations: [Int: Activation] = [:]
    /// The cycles under way, by their numbers.
    private(set) var cycles: [Int: Cycle] = [:]
    /// The cycles that may be joined.
    private(set) var joinable: [CycleIdentity: Int] = [:]
    /// The activations that wait for their board to be served.
    private(set) var unserved = NameTable<Set<Int>>()
    /// Which activation each run is for.
    private(set) var runs: [Int: Int] = [:]
    private(set) var completed = CompletedBarriers()
    /// The ends of activations' waits; those of cycles under their numbers.
    private(set) var deadlines = Deadlines<Int>()

    /// What is still to be done of the present fact, in the order in which it came up.
    private(set) var steps: [Step] = []
    private(set) var orders: [ActivationOrder] = []
    private var now = Instant(nanoseconds: 0)
    private var lastActivation = 0
    private var lastRun = 0

    /// One thing to do with one activation.
    enum Step {
        /// It came, or its board is served now.
        case begin(Int)
        /// What was before it is out of the way.
        case proceed(Int)
        case end(Int, ActivationOutcome)
    }

    public init(limits: ActivationLimits = ActivationLimits()) {
        self.limits = limits
    }

    /// When ``timePassed(to:)`` is due; nil while nothing waits for the time.
    public var nextDeadline: Instant? {
        [deadlines.next, completed.nextDeadline].compactMap(\.self).min()
    }

    // MARK: Those who activate

    /// Somebody activates a board (Behaviour A1).
    /// - Returns: the activation's number, and what is to be done, which may be its end already.
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

    /// Whoever asked for an activation does not want it any more.
    public mutating func cancel(_ activation: Int, at now: Instant) -> [ActivationOrder] {
        steps.append(.end(activation, .givenUp))
        return carryOut(at: now)
    }

    /// A connection is gone: its activations end, with nobody to tell.
    public mutating func clientLeft(_ client: Int, at now: Instant) -> [ActivationOrder] {
        steps += (peers[client]?.activations.sorted() ?? []).map { .end($0, .givenUp) }
        return carryOut(at: now)
    }

    // MARK: Time

    /// Time has come to ``nextDeadline``.
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

    // MARK: The turn

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
        changePeer(provider) { ($0.boards, $0.runs) = (NameSet(), []) }
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
        return [gateway, serving.fixedBarrier].compactMap(\.self).filter { ExactName($0.board) != ExactName(board) }
    }

    /// The circle that boards would wait in if this one were served so (Behaviour A8). A board that nobody serves waits for
    /// nothing: whoever serves it later is looked at then.
    private func circle(closedBy board: String, _ serving: BoardServing) -> [String]? {
        BoardCircle.path(from: board) { name in
            guard let serving = ExactName(name) == ExactName(board) ? serving : boards.serving(name) else { return [] }
            return barriers(before: name, serving).map(\.board)
        }
    }
}

/// An activation's way: it waits for its board to be served, then for each barrier, then for its process, and ends.
extension Activations {
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
        activations[id]?.barriers = barriers[...]
        activations[id]?.needsChoice = serving.barrier == .chosen
        proceed(id)
    }

    private mutating func awaitProvider(_ id: Int, _ request: ActivationRequest) {
        guard request.wait != .zero else { return end(id, .notServed) }
        unserved[request.board, default: []].insert(id)
        if let wait = request.wait { deadlines.set(id, at: now + wait) }
    }

    private mutating func proceed(_ id: Int) {
        while let barrier = activations[id]?.barriers.popFirst(), let activation = activations[id] {
            let identity = CycleIdentity(barrier, before: activation)
            if !hasCompleted(identity, barrier, for: activation) { return hold(id, by: barrier, identity) }
        }
        if activations[id]?.needsChoice == true { choose(id) } else { run(id) }
    }

    private mutating func end(_ id: Int, _ outcome: ActivationOutcome) {
        guard let activation = remove(id) else { return }
        switch activation.purpose {
        case .asker: orders.append(.end(activation: id, outcome))
        case .cycle: cycleEnded(id, outcome)
        }
    }

    /// Lets go of all that an activation holds.
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
extension Activations {
    /// Whether a barrier need not be run for an activation: it just was, or its completion still counts.
    private func hasCompleted(
        _ identity: CycleIdentity, _ barrier: ActivationBarrier, for activation: Activation
    ) -> Bool {
        if activation.completed.contains(identity) { return true }
        return barrier.sticky.map { completed.hasCompleted(identity, within: $0, at: now) } ?? false
    }

    /// Has an activation wait for a barrier: for the cycle under way, or for one that begins with it.
    private mutating func hold(_ id: Int, by barrier: ActivationBarrier, _ identity: CycleIdentity) {
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
        request.comparedInput = activation.request.comparedInput
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
    private mutating func cycleEnded(_ number: Int, _ outcome: ActivationOutcome) {
        guard let cycle = close(number) else { return }
        let refusal = ActivationOutcome(refusal: outcome, by: cycle.identity.board)
        if refusal == nil, let sticky = cycle.sticky { completed.remember(cycle.identity, at: now, for: sticky) }
        for waiter in cycle.waiters { release(waiter, from: cycle, refusal) }
    }

    /// A barrier took too long (Behaviour A5).
    private mutating func timeOut(cycle number: Int) {
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

/// How a board's process answered.
public typealias BoardAnswer = Result<BoardResult, ActivationFault>

/// What a board's process says when it has run the board.
public struct BoardResult: Sendable, Equatable {
    /// Whether the board did what it is for.
    public var done: Bool
    /// What it puts out.
    public var output: DataItem?

    public init(done: Bool, output: DataItem? = nil) {
        self.done = done
        self.output = output
    }
}

extension Activations {
    /// A process has answered. An answer to nothing, or to what nobody waits for any more, changes nothing
    /// (Behaviour A5).
    public mutating func answered(
        _ run: Int, by provider: Int, with answer: BoardAnswer, at now: Instant
    ) -> [ActivationOrder] {
        guard let id = runs[run], activations[id]?.stage == .running(run: run, provider: provider) else { return [] }
        _ = finish(run, of: provider)
        steps.append(.end(id, ActivationOutcome(answer)))
        return carryOut(at: now)
    }

    /// A process has chosen the barrier of an activation, or answered with an error, which ends the activation. A late
    /// choice, or one of another process, changes nothing (Behaviour A2, A5).
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

    /// The time of the choice is over. The barrier has a time of its own, and the run begins another.
    private mutating func chose(_ id: Int, _ barrier: ActivationBarrier?) {
        guard let request = activations[id]?.request else { return }
        if request.timeout != nil { deadlines.remove(id) }
        activations[id]?.needsChoice = false
        let held = [barrier].compactMap(\.self).filter { ExactName($0.board) != ExactName(request.board) }
        activations[id]?.barriers = held[...]
        steps.append(.proceed(id))
    }

    /// Has a process choose the activation's barrier: its gateway is out of the way.
    private mutating func choose(_ id: Int) {
        guard let run = ask(id) else { return }
        activations[id]?.stage = .choosing(run: run.run, provider: run.provider)
        orders.append(.choose(run))
    }

    /// Has a process run the board: everything before it is out of the way.
    private mutating func run(_ id: Int) {
        guard let run = ask(id) else { return }
        activations[id]?.stage = .running(run: run.run, provider: run.provider)
        orders.append(.run(run))
    }

    /// Finds the process to ask, and begins its time. Ends the activation, and returns nil, if nobody serves the board.
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

    /// Nobody waits for an answer any more.
    /// - Returns: the activation that it was for; nil when nobody did before.
    private mutating func finish(_ run: Int, of provider: Int) -> Int? {
        guard let id = runs.removeValue(forKey: run) else { return nil }
        changePeer(provider) { $0.runs.remove(run) }
        return id
    }
}

extension BoardRun {
    fileprivate init(_ run: Int, of activation: Activation, by provider: Int) {
        self.init(
            run: run, provider: provider, activation: activation.id, board: activation.request.board,
            input: activation.request.input, mainboard: activation.request.mainboard,
            isBarrier: activation.request.isBarrier)
    }
}

extension ActivationOutcome {
    fileprivate init(_ answer: BoardAnswer) {
        switch answer {
        case .success(let result): self = .completed(done: result.done, output: result.output)
        case .failure(let fault): self = .failed(fault)
        }
    }
}

/// How deep boards wait for each other (Behaviour A8). That is each activation's own matter: one that would wait too deep, or
/// for itself, fails alone, and the cycles that it shares with others go on for these.
extension Activations {
    private var chains: WaitingChains { WaitingChains(activations: activations, cycles: cycles, peers: peers) }

    /// The depth at which a barrier stands when an activation waits for it. Those who wait for the activation, and for whom
    /// that is too deep, end.
    /// - Parameter cycle: the barrier's cycle under way; nil where one is about to begin.
    /// - Returns: nil when nobody is left who wants the barrier.
    private mutating func depth(of id: Int, waitingFor board: String, _ cycle: Int?) -> Int? {
        let ahead = cycle.map { chains.chain(from: $0, to: id) } ?? []
        endThoseWithinRun(of: ahead, at: id)
        guard let activation = activations[id] else { return nil }
        let isCircle = ahead.last == id
        let deepest = isCircle ? -1 : limits.depth - max(ahead.count, 1)
        if activation.depth <= deepest { return activation.depth + 1 }
        let boards = ahead.isEmpty ? [board] : chains.boards(of: ahead)
        var depth: Int?
        for way in chains.ways(to: id) {
            if way.count - 1 <= deepest { depth = max(depth ?? 0, way.count) } else { fail(way, before: boards) }
        }
        return depth
    }

    /// Somebody waits at this depth for a cycle, and so for all that it waits for.
    private mutating func deepen(_ cycle: Int, to depth: Int) {
        for (place, id) in chains.chain(from: cycle).enumerated() {
            guard let known = activations[id]?.depth, known < depth + place else { continue }
            activations[id]?.depth = depth + place
        }
    }

    /// Ends the activations that wait at `id` for a run that waits for them: the code of a barrier has activated a board that
    /// is held by this very barrier (Behaviour A8).
    private mutating func endThoseWithinRun(of ahead: [Int], at id: Int) {
        guard !ahead.isEmpty else { return }
        for way in chains.ways(to: id) where chains.isWithinRun(way[0], of: ahead) {
            let boards = chains.boards(of: way)
            end(way[0], .circle(Array((boards + chains.boards(of: ahead) + boards.prefix(1)).prefix(limits.depth + 2))))
        }
    }

    /// Tells the boards from the activated one to the first that is too deep, or comes again.
    private mutating func fail(_ way: [Int], before ahead: [String]) {
        let boards = chains.boards(of: way)
        let count = ahead.firstIndex(where: boards.contains).map { $0 + 1 } ?? ahead.count
        end(way[0], .circle(Array((boards + ahead.prefix(count)).prefix(limits.depth + 2))))
    }
}
