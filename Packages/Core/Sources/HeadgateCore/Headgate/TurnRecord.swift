/// What the parts of a gate tell it, and ask it. They do not hold it.
protocol GateHost: AnyObject {
    /// A turn is at its end in which something happened.
    /// - Parameter dispatchers: those that have to look, in alphabetical order.
    func turnEnded(toLook dispatchers: [String])
    /// Something may look otherwise to those who watch.
    func changed(_ change: GateChange)
    /// A barrier's code threw, or it refused its configuration (Behaviour B7, B9).
    func barrierFailed(_ failure: BarrierFailure)
    /// A group was stored, with so much of each route, behind an event.
    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber)
    /// Up to which event nobody needs anything.
    func trimPoint() -> SequenceNumber
    /// Forgets the routes that no event has any more. What made that so has to be written before, or together with it.
    func forgetUnusedRoutes() -> [RouteNumber]
    /// The kind of the machine's network connection, where it is known (Behaviour D13).
    var networkConnectionType: String? { get }
    /// Who runs the boards that stand before dispatchers (Behaviour A9).
    var boardActivator: (any BoardActivator)? { get }
}

/// What has changed in a turn, noted by the parts of a gate as it happens, and looked at once when the turn ends.
final class TurnRecord {
    /// The gate whose turn it is.
    @exclusivity(unchecked) weak var host: (any GateHost)?
    private let scheduler: any Scheduler
    /// Those that have to look; one may come several times.
    @exclusivity(unchecked) private var toLook: [String] = []
    /// Those that do.
    @exclusivity(unchecked) private var looking: [String] = []
    @exclusivity(unchecked) private var isEndDue = false

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    /// A dispatcher has to look at the end of the turn.
    func look(_ dispatcher: String) {
        if toLook.last != dispatcher { toLook.append(dispatcher) }
        guard !isEndDue else { return }
        isEndDue = true
        scheduler.atEndOfTurn(.dispatch) { self.end() }
    }

    /// The way to a dispatcher may be another one: a barrier's state has changed, or a flush begins or ends.
    func wayChanged(_ dispatcher: String) {
        look(dispatcher)
        host?.changed(.way)
    }

    /// Something is told of barriers now that was not before.
    func barriersChanged() {
        host?.changed(.barriers)
    }

    private func end() {
        isEndDue = false
        swap(&toLook, &looking)
        // They mostly are in order: one group was stored, or one behind the other.
        looking.sort()
        var last: String?
        looking.removeAll { id in
            defer { last = id }
            return id == last
        }
        host?.turnEnded(toLook: looking)
        looking.removeAll(keepingCapacity: true)
    }
}
