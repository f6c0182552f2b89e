import HeadgateData

/// All that the service does with events, without sockets, files or threads: accepts them into the queue, and sees them
/// through barriers to their dispatchers.
///
/// It lives on the scheduler. Facts come in by method calls; what follows from them is noted in a `TurnRecord` and done at the
/// end of the turn. It is a thin front: what it does is done by its parts, which own their state.
public final class Headgate {
    public let scheduler: any Scheduler
    public let events: EventQueue
    /// What is counted of all its events.
    public let counts = EventCounts()
    /// The machine's network connection, set by whoever watches it (Behaviour B21).
    public let network = StateSubject(NetworkState.unknown)
    /// What clients announced about themselves, set by whoever serves them (Behaviour B26).
    public let clientStatuses = StateSubject(ClientStatuses())
    /// The barriers that clients registered (Behaviour B29).
    public let remoteBarriers: RemoteBarriers
    /// True if the network's return begins a flush (Behaviour F5).
    public var flushesOnReturn = false

    let surroundings: GateSurroundings
    let turn: TurnRecord
    let coordinator: BarrierCoordinator
    let configured: ConfiguredBarriers
    let dispatchers: Dispatchers
    let flushes: Flushes
    let settlements: Settlements
    let letters: LetterShelf
    let deadLetterWork: DeadLetterWork
    let loadRouter: LoadRouter
    let transformations: Transformations
    let kept: KeptValues
    let clock: ClockKeeper
    let depths = QueueDepths()
    /// What is kept so that events can be traced.
    public let trace: EventTrace
    private let housekeeping: Housekeeping
    private let barrierFailureSubject = PulseSubject<BarrierFailure>()
    private let changeSubject = PulseSubject<GateChange>()
    private var networkReturn = NetworkReturn()
    private let automaticFlushes = AutomaticFlushes()
    /// The orderly stop under way.
    @exclusivity(unchecked) private var stopping: OrderlyStop?
    /// What the gate follows for as long as it lives.
    private var followed: [any Disposable] = []

    /// - Parameter state: what the store gave back when it was opened.
    public init(
        scheduler: any Scheduler, store: any EventStore, state: consuming StoredState, limits: StoreLimits,
        surroundings: GateSurroundings = GateSurroundings()
    ) {
        self.scheduler = scheduler
        self.surroundings = surroundings
        turn = TurnRecord(scheduler: scheduler)
        let (known, keptValues) = (state.dispatchers, state.kept)
        trace = EventTrace(lastEarlier: state.lastSequenceNumber)
        events = EventQueue(
            scheduler: scheduler, store: store, limits: limits, state: consume state, bounds: surroundings.groups,
            trace: trace, builtAt: surroundings.builtAt)
        settlements = Settlements(scheduler: scheduler, store: store)
        letters = LetterShelf(events: events, settlements: settlements, turn: turn)
        coordinator = BarrierCoordinator(scheduler: scheduler, turn: turn)
        flushes = Flushes(scheduler: scheduler, coordinator: coordinator, turn: turn)
        transformations = Transformations()
        loadRouter = LoadRouter(surroundings.patternCompiler, transformations)
        kept = KeptValues(keptValues, settlements: settlements)
        dispatchers = Dispatchers(
            known,
            Dispatcher.Surroundings(
                events: events, coordinator: coordinator, flushes: flushes, settlements: settlements,
                letters: letters, depths: depths, counts: counts, transformations: transformations, turn: turn,
                trace: trace,
                chance: surroundings.chance))
        configured = ConfiguredBarriers(coordinator: coordinator, turn: turn, dispatchers: dispatchers)
        remoteBarriers = RemoteBarriers(coordinator: coordinator, configured: configured, turn: turn, kept: kept)
        deadLetterWork = DeadLetterWork(
            events: events, settlements: settlements, counts: counts, dispatchers: dispatchers, letters: letters)
        settlements.add(.keep(DedupeKey.name, events.dedupeKey.kept))
        settlements.add(.keep(StoreIdentity.name, events.identity.kept))
        clock = ClockKeeper(events: events, settlements: settlements)
        housekeeping = Housekeeping(
            dispatchers: dispatchers, events: events, settlements: settlements, clock: clock, counts: counts,
            trace: trace)
        deadLetterWork.namespace = { [weak self] in self?.namespaceNumber(of: $0) ?? 0 }
        turn.host = self
        events.host = self
        settlements.host = self
        store.onLettersDropped = { [weak self] in self?.lettersDropped($0) }
        follow(network.wrappedValue) { $0.networkChanged(to: $1) }
        if let activator = surroundings.boardActivator {
            // What dispatchers wait for is a reason to be told (Behaviour B10).
            follow(activator.servingChanges) { gate, _ in gate.barriersChanged() }
        }
    }

    /// Has the gate told of something for as long as it lives.
    private func follow<Value>(_ observable: Observable<Value>, _ tell: @escaping (Headgate, Value) -> Void) {
        followed.append(observable.subscribe { [weak self] in if let self { tell(self, $0) } })
    }

    /// Dead letters had to make room for newer ones (Behaviour D10, O4).
    private func lettersDropped(_ numbers: [DispatcherNumber: Int]) {
        for (number, count) in numbers.sorted(by: { $0.key < $1.key }) {
            counts.count(.droppedLetters, count)
            let id = dispatchers.known.id(of: number) ?? "\(number)"
            counts.tell(EventLoss(.lettersDropped, of: id, events: count))
        }
    }

    // MARK: Watching

    /// Barriers whose code threw, or that refused their configuration, for the log (Behaviour B7, B9).
    public var barrierFailures: Observable<BarrierFailure> { barrierFailureSubject.observable }

    /// Failures of transformations, for the log (Behaviour P4).
    public var transformationFailures: Observable<TransformationFailure> { transformations.failures.observable }

    /// Why something could not be written down, for the log; it is tried again (Behaviour Q8).
    public var writeFaults: Observable<StoreFault> { settlements.faults.observable }

    /// What may have changed, for those who watch (Behaviour B10). While nobody does it costs nothing.
    public var changes: Observable<GateChange> { changeSubject.observable }

    /// Whether anybody watches ``changes``.
    public var isWatched: Bool { changeSubject.isObserved }

    /// Something is told of barriers now that was not before; for those whose words come from elsewhere.
    public func barriersChanged() {
        changeSubject.send(.barriers)
    }

    // MARK: Dispatchers

    /// Adds a dispatcher. One that the store knows goes on where it was; a new one starts at the newest event
    /// (Behaviour Q3).
    /// - Parameter reachesNetwork: whether its destination is on the other side of a network: neither this machine's
    ///   loopback, nor a file or socket of its own (Behaviour B20).
    public func addDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool = false
    ) {
        // Of a dispatcher that the store does not know another one of its name was paused.
        if dispatchers.known[settings.id] == nil { kept.endPause(of: settings.id) }
        dispatchers.add(
            settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork, pause: kept.pause(of: settings.id))
        dispatchersChanged()
    }

    /// Gives a dispatcher other settings. No event is lost or sent again by it (Behaviour S3).
    /// - Parameter sender: its new way out; nil: the present one stays.
    /// - Returns: false when there is no such dispatcher.
    @discardableResult
    public func changeDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: (any Sender)?, reachesNetwork: Bool
    ) -> Bool {
        guard let dispatcher = dispatchers[settings.id] else { return false }
        dispatcher.change(to: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork)
        dispatchersChanged()
        return true
    }

    /// Removes a dispatcher: it takes no more batches, finishes what is on its way, and its queue is kept for a while
    /// (Behaviour Q3). Flushes do not wait for it. An operator's pause ends with it: another of its name is not held.
    public func removeDispatcher(_ id: String) {
        guard dispatchers.remove(id) else { return }
        kept.endPause(of: id)
        dispatchersChanged()
    }

    /// Makes anew what depends on which dispatchers there are, and how they are set.
    private func dispatchersChanged() {
        configured.refreshDefaultScopes()
        loadRouter.dispatchersChanged(dispatchers.present)
        dispatchers.renewRoute()
    }

    /// Notes which known dispatchers are not configured any more; their queues are kept for a while (Behaviour Q3).
    public func noteOrphans() {
        dispatchers.noteOrphans()
    }

    /// The queues of dispatchers that are configured no more, in alphabetical order (Behaviour Q3).
    public var orphans: [OrphanSummary] { dispatchers.orphanSummaries }

    /// The fault that keeps a dispatcher from taking over the queue of one that is configured no more; nil if there is none.
    public func fault(takingOver former: String, by id: String) -> String? {
        dispatchers.fault(takingOver: former, by: id)
    }

    /// The dispatchers' ids, in alphabetical order.
    public var dispatcherIds: [String] { dispatchers.ids }

    public func hasDispatcher(_ id: String) -> Bool { dispatchers[id] != nil }

    /// The id of a dispatcher that is configured, or whose queue is kept.
    public func dispatcherId(of number: DispatcherNumber) -> String? {
        dispatchers.known.id(of: number)
    }

    /// A dispatcher's destination can take more than before (``Sender/capacity``): it looks again.
    public func destinationHasRoom(_ id: String) {
        turn.look(id)
    }

    // MARK: Routes

    /// The route of an event that all dispatchers want.
    public var routeToAll: RouteNumber { dispatchers.routeToAll }

    /// The route of an event for all dispatchers, or for some only; nil when one of these is unknown.
    public func route(narrowedTo ids: [String]? = nil) throws(TooManyRoutes) -> RouteNumber? {
        guard let ids else { return routeToAll }
        let numbers = ids.map { dispatchers[$0]?.number }
        guard !numbers.contains(nil) else { return nil }
        return try routeNumber(of: Set(numbers.compactMap { $0 }))
    }

    /// Whether an event has to be shown to ``route(_:for:)``.
    public var hasLoadRules: Bool { !loadRouter.isEmpty }

    /// The dispatchers of a route that want an event (Behaviour P3).
    public func route(_ route: RouteNumber, for event: some EventFields) throws(TooManyRoutes) -> RouteNumber {
        let refusing = loadRouter.refusing(event)
        guard !refusing.isEmpty else { return route }
        return try routeNumber(of: events.routes.dispatchers(of: route).filter { !refusing.contains($0) })
    }

    /// The number of a set that an event asks for. Where there are too many, some may be forgotten by the next turn.
    private func routeNumber(of dispatchers: some Sequence<DispatcherNumber>) throws(TooManyRoutes) -> RouteNumber {
        do throws(TooManyRoutes) {
            return try events.routes.number(asked: dispatchers)
        } catch {
            settlements.lookSoon()
            throw error
        }
    }

    // MARK: Network

    /// Somebody sets ``network``. From now on a ConnectivityBarrier stands before the dispatchers that reach the network
    /// (Behaviour B20); before, it could only hold them for ever.
    public func watchNetwork() {
        let id = ConnectivityBarrier.id
        guard !coordinator.isTaken(id) else { return }
        // An empty configuration has nothing to refuse; a factory of the program's own may still throw.
        do {
            try addBarrier(id: id, kind: id, scopes: nil, configuration: [:])
        } catch {
            barrierFailed(BarrierFailure(barrier: BarrierIdentity(id: id, kind: id), error: error))
        }
    }

    private func networkChanged(to state: NetworkState) {
        // Why a barrier is closed may have changed alone, which no way tells.
        barriersChanged()
        guard networkReturn.isReturn(to: state), flushesOnReturn else { return }
        // The ConnectivityBarriers hear of the same change in this turn, some of them after the gate.
        scheduler.atEndOfTurn(.facts) { [weak self] in self?.flushBehindOpenConnectivity() }
    }

    /// Flushes the dispatchers that stand behind ConnectivityBarriers, all of which are open now (Behaviour F5): the return of
    /// a connection of the wrong kind flushes nothing.
    private func flushBehindOpenConnectivity() {
        guard !isStopping else { return }
        let states = barrierSummaries.filter { $0.identity.kind == ConnectivityBarrier.id }.flatMap(\.states)
        let closed = Set(states.filter { $0.state != .open }.map(\.dispatcher))
        flushAutomatically(Set(states.map(\.dispatcher)).subtracting(closed).sorted())
    }

    /// Begins a flush that nobody waits for: it lasts until everything it covers is settled (Behaviour F5).
    /// - Parameter dispatchers: the dispatchers' ids; nil is all.
    public func flushAutomatically(_ dispatchers: [String]? = nil) {
        automaticFlushes.begin(dispatchers ?? dispatcherIds, of: self)
    }

    // MARK: Stopping

    /// Whether an orderly stop is under way.
    public var isStopping: Bool { stopping != nil }

    /// Stops in an orderly way (Behaviour D11, F5): what may go now goes, what is in flight is finished, within a time;
    /// the rest stays stored. Waits are not waited for, and nobody is waited for without end: a store that does not
    /// answer is left five seconds after that time. A stop that is under way goes on as it began.
    /// - Parameters:
    ///   - flushing: whether the stop begins with a flush.
    ///   - then: called once the store is closed, or left; at once if that has been.
    public func stop(within timeout: Duration, flushing: Bool, then: @escaping (StopOutcome) -> Void) {
        if let stopping { return stopping.whenEnded(then) }
        let stop = OrderlyStop(gate: self, within: timeout, flushing: flushing)
        stopping = stop
        housekeeping.end()
        stop.whenEnded(then)
        stop.begin()
    }
}

// MARK: - The turn

extension Headgate: GateHost {
    func turnEnded(toLook ids: [String]) {
        guard stopping?.isClosing != true else { return }
        // One moment for all that is done now: to ask the clocks takes as long as most of it.
        let present = events.clockPair()
        clock.keepIfJumped(present)
        dispatchers.makeRoom(at: present.stamp)
        dispatchers.look(ids, at: present.stamp)
        changeSubject.send(.progress)
        housekeeping.schedule()
        stopping?.look()
    }

    func changed(_ change: GateChange) {
        changeSubject.send(change)
    }

    func barrierFailed(_ failure: BarrierFailure) {
        counts.count(.barrierErrors)
        barrierFailureSubject.send(failure)
    }

    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber) {
        dispatchers.stored(tallies, behind: previous)
    }

    func trimPoint() -> SequenceNumber {
        let point = dispatchers.trimPoint()
        events.trimRecent(through: point)
        return point
    }

    func forgetUnusedRoutes() -> [RouteNumber] {
        events.forgetUnusedRoutes(except: routeToAll)
    }

    /// The kind of the machine's network connection, where it is known (Behaviour D13).
    public var networkConnectionType: String? { network.value.kind?.rawValue }

    var boardActivator: (any BoardActivator)? { surroundings.boardActivator }
}
