/// A dispatcher, as the record of evaluations knows it.
protocol EvaluatedDispatcher: AnyObject {
    var id: String { get }
    /// Sends the events that may be sent now. Does nothing if the dispatcher has been removed.
    /// - Parameter stamp: the present time on the age scale.
    func evaluate(at stamp: Int64)
}

/// The gate, as its parts see it. The parts do not retain it.
protocol GateHost: AnyObject {
    /// Processes the end of a turn in which something happened.
    /// - Parameter dispatchers: the dispatchers to evaluate, in alphabetical order.
    func turnEnded(toEvaluate dispatchers: [any EvaluatedDispatcher])
    /// Returns the dispatcher with an id, configured or with batches in flight.
    func dispatcher(_ id: String) -> (any EvaluatedDispatcher)?
    /// Reports a possible change to watchers.
    func changed(_ change: GateChange)
    /// Reports a barrier whose code threw or that refused its configuration (Behaviour B7, B9).
    func barrierFailed(_ failure: BarrierFailure)
    /// Reports a stored group: its events by route, and the newest event before it.
    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber)
    /// Returns the sequence number up to which no dispatcher needs events.
    func trimPoint() -> SequenceNumber
    /// Forgets and returns unused routes. The settlements that made them unused must be written before, or in the same
    /// write.
    func forgetUnusedRoutes() -> [RouteNumber]
    /// The kind of the machine's network connection; nil if it is unknown (Behaviour D13).
    var networkConnectionType: String? { get }
    /// The object that runs the boards of activation barriers (Behaviour A9).
    var boardActivator: (any BoardActivator)? { get }
}

/// The dispatchers that need an evaluation, collected during a turn. They are evaluated once, at the end of the turn.
final class PendingEvaluations {
    /// The gate that evaluates the dispatchers.
    @exclusivity(unchecked) weak var host: (any GateHost)?
    private let scheduler: any Scheduler
    /// The dispatchers to evaluate, possibly with repetitions.
    @exclusivity(unchecked) private var toEvaluate: [any EvaluatedDispatcher] = []
    /// The dispatchers that are being evaluated.
    @exclusivity(unchecked) private var evaluating: [any EvaluatedDispatcher] = []
    @exclusivity(unchecked) private var isEndDue = false

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// Schedules the evaluation of a dispatcher at the end of the turn.
    func evaluate(_ dispatcher: any EvaluatedDispatcher) {
        if toEvaluate.last !== dispatcher { toEvaluate.append(dispatcher) }
        endTurn()
    }

    /// Schedules the evaluation of the dispatcher with an id, at the end of the turn. It is for callers that have only
    /// the id.
    func evaluate(_ id: String) {
        if let dispatcher = host?.dispatcher(id) { toEvaluate.append(dispatcher) }
        endTurn()
    }

    /// Reports that a dispatcher may have become open or blocked, because a barrier's state has changed or a flush has
    /// started or ended.
    func stateChanged(_ dispatcher: String) {
        evaluate(dispatcher)
        host?.changed(.blockedState)
    }

    /// Reports that the description of a barrier may have changed.
    func barriersChanged() {
        host?.changed(.barriers)
    }

    private func endTurn() {
        guard !isEndDue else { return }
        isEndDue = true
        scheduler.atEndOfTurn(.dispatch) { self.end() }
    }

    private func end() {
        isEndDue = false
        swap(&toEvaluate, &evaluating)
        // The dispatchers are mostly sorted already: they are added group by group.
        if evaluating.count > 1 { sort() }
        host?.turnEnded(toEvaluate: evaluating)
        evaluating.removeAll(keepingCapacity: true)
    }

    /// Sorts the dispatchers by their ids, and removes repetitions.
    private func sort() {
        evaluating.sort { $0.id < $1.id }
        var last: (any EvaluatedDispatcher)?
        evaluating.removeAll { dispatcher in
            defer { last = dispatcher }
            return dispatcher === last
        }
    }
}
