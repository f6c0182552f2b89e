/// All boards, and all activations of them (Behaviour A1–A8): facts and the time go in, orders come out.
///
/// Connections are told apart by numbers. Whatever an order leads to is told by another fact, at once or later. Nothing is
/// remembered of an activation that has ended, except for the barriers with `sticky_ms`.
public struct Activations {
    public let limits: ActivationLimits
    /// What settings put before boards (Behaviour A7). A change counts for those who come after it.
    public var gateways = GatewayRules()

    var boards = Boards()
    var peers: [Int: ActivationPeer] = [:]
    /// Those under way.
    var activations: [Int: Activation] = [:]
    /// The cycles under way, by their numbers.
    var cycles: [Int: Cycle] = [:]
    /// The cycles that may be joined.
    var joinable: [CycleIdentity: Int] = [:]
    /// The activations that wait for their board to be served.
    var unserved: [String: Set<Int>] = [:]
    /// Which activation each run is for.
    var runs: [Int: Int] = [:]
    var completed = CompletedBarriers()
    /// The ends of activations' waits; those of cycles under their numbers.
    var deadlines = Deadlines<Int>()

    /// What is still to be done of the present fact, in the order in which it came up.
    var steps: [Step] = []
    var orders: [ActivationOrder] = []
    var now = Instant(nanoseconds: 0)
    var lastActivation = 0
    var lastRun = 0

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

    mutating func carryOut(at now: Instant) -> [ActivationOrder] {
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

    mutating func changePeer(_ number: Int, _ change: (inout ActivationPeer) -> Void) {
        change(&peers[number, default: ActivationPeer()])
        if peers[number]?.isEmpty == true { peers[number] = nil }
    }
}
