import HeadgateData

/// The gate: everything the service does with events, without sockets, files or threads. It accepts events into the
/// queue, holds them behind barriers, and delivers them to dispatchers.
///
/// A gate lives on the scheduler. Method calls report facts. Their consequences are recorded in a `PendingEvaluations` and
/// processed at the end of the turn. The gate only combines its parts, which own their state.
public final class Headgate {
    public let scheduler: any Scheduler
    public let events: EventQueue
    /// The counters of all events.
    public let counts = EventCounts()
    /// The machine's network connection. The code that monitors it sets the value (Behaviour B21).
    public let network = StateSubject(NetworkState.unknown)
    /// The statuses that clients have reported. The code that serves them sets the value (Behaviour B26).
    public let clientStatuses = StateSubject(ClientStatuses())
    /// The barriers that clients have registered (Behaviour B29).
    public let remoteBarriers: RemoteBarriers
    /// True if the network's return starts a flush (Behaviour F5).
    public var flushesOnReturn = false

    let environment: GateEnvironment
    let turn: PendingEvaluations
    let coordinator: BarrierCoordinator
    /// The barriers of settings and factories.
    public let barriers: ConfiguredBarriers
    /// The dispatchers that are configured, and the queues of removed ones.
    public let dispatchers: Dispatchers
    /// The running flushes.
    public let flushes: Flushes
    let settlements: Settlements
    let deadLetterTotals: DeadLetterTotals
    /// The operations on dead letters.
    public let deadLetters: DeadLetterOperations
    /// The load rules, by which events are routed.
    public let loadRules: LoadRouter
    /// The transformations of events.
    public let transformations: Transformations
    let kept: StoredValues
    let clock: ClockRecorder
    let depths = QueueDepths()
    /// The records of recent events for traces.
    public let trace: EventTrace
    let traceQueries = TraceQueries()
    /// The runner of the operations that wait for the store several times.
    let tasks: TaskRunner
    private let housekeeping: Housekeeping
    let rewinds: Rewinds
    let erasures: Erasures
    /// True until the gate continues the erasure that an earlier process began.
    private var isErasing: Bool
    private let barrierFailureSubject = PulseSubject<BarrierFailure>()
    private let changeSubject = PulseSubject<GateChange>()
    private var networkReturn = NetworkReturn()
    /// The dispatchers that a ConnectivityBarrier blocked after the last change of the network.
    private var withoutConnection: Set<String> = []
    private let automaticFlushes = AutomaticFlushes()
    /// The running orderly stop.
    @exclusivity(unchecked) private var stopping: OrderlyStop?
    /// The subscriptions of the gate, for its whole life.
    private var followed: [any Disposable] = []

    /// - Parameter state: the state that the store returned when it was opened.
    public init(
        scheduler: any Scheduler, store: any EventStore, state: consuming StoredState, limits: StoreLimits,
        environment: GateEnvironment = GateEnvironment()
    ) {
        self.scheduler = scheduler
        self.environment = environment
        turn = PendingEvaluations(scheduler: scheduler)
        tasks = TaskRunner(scheduler)
        let (known, keptValues) = (state.dispatchers, state.kept)
        counts.count(.quarantined, state.quarantined)
        isErasing = state.isErasing || keptValues[KeptErasure.name] != nil
        trace = EventTrace(lastEarlier: state.lastSequenceNumber, readObject: environment.readObject)
        events = EventQueue(
            scheduler: scheduler, store: store, limits: limits, state: consume state, bounds: environment.groups,
            trace: trace, builtAt: environment.builtAt)
        settlements = Settlements(scheduler: scheduler, store: store)
        deadLetterTotals = DeadLetterTotals(events: events, settlements: settlements, turn: turn)
        coordinator = BarrierCoordinator(scheduler: scheduler, turn: turn)
        flushes = Flushes(scheduler: scheduler, coordinator: coordinator, turn: turn)
        transformations = Transformations(counts)
        loadRules = LoadRouter(environment.patternCompiler, transformations)
        kept = StoredValues(keptValues, settlements: settlements)
        let records = OutcomeRecords(
            events: events, settlements: settlements, deadLetters: deadLetterTotals, counts: counts, trace: trace,
            flushes: flushes)
        dispatchers = Dispatchers(
            known, kept: keptValues,
            Dispatchers.Parts(
                records: records, coordinator: coordinator, depths: depths, transformations: transformations,
                loadRouter: loadRules, turn: turn, chance: environment.chance))
        barriers = ConfiguredBarriers(coordinator: coordinator, turn: turn, dispatchers: dispatchers)
        remoteBarriers = RemoteBarriers(coordinator: coordinator, configured: barriers, turn: turn, kept: kept)
        deadLetters = DeadLetterOperations(
            events: events, settlements: settlements, counts: counts, dispatchers: dispatchers,
            totals: deadLetterTotals, tasks: tasks)
        settlements.add(.keep(DedupeKey.name, events.dedupeKey.kept))
        settlements.add(.keep(StoreIdentity.name, events.identity.kept))
        if store.canRewind { settlements.add(events.retentionChange ?? .retain(nil)) }
        rewinds = Rewinds(events: events, dispatchers: dispatchers, settlements: settlements)
        erasures = Erasures(
            events: events, dispatchers: dispatchers, records: records, deadLetters: deadLetters, rewinds: rewinds,
            kept: kept)
        clock = ClockRecorder(events: events, settlements: settlements)
        housekeeping = Housekeeping(
            dispatchers: dispatchers, events: events, settlements: settlements, clock: clock, counts: counts,
            trace: trace)
        deadLetters.namespace = { [weak self] in self?.namespaceNumber(of: $0) ?? 0 }
        barriers.context = { [unowned self] in barrierContext }
        turn.host = self
        events.host = self
        settlements.host = self
        erasures.onProgress = { [weak self] in self?.changed(.progress) }
        store.onDeadLettersDropped = { [weak self] in self?.deadLettersDropped($0) }
        follow(network.wrappedValue) { $0.networkChanged(to: $1) }
        if let activator = environment.boardActivator {
            // Watchers are shown which boards the dispatchers wait for (Behaviour B10).
            follow(activator.servingChanges) { gate, _ in gate.barriersChanged() }
        }
    }

    /// Subscribes to an observable for the life of the gate.
    private func follow<Value>(_ observable: Observable<Value>, _ handle: @escaping (Headgate, Value) -> Void) {
        followed.append(observable.subscribe { [weak self] in if let self { handle(self, $0) } })
    }

    /// Counts dead letters that were dropped to make room for newer ones (Behaviour D10, O4).
    private func deadLettersDropped(_ numbers: [DispatcherNumber: Int]) {
        for (number, count) in numbers.sorted(by: { $0.key < $1.key }) {
            counts.count(.droppedLetters, count)
            let id = dispatchers.known.id(of: number) ?? "\(number)"
            counts.report(EventLoss(.deadLettersDropped, of: id, events: count))
        }
    }

    // MARK: Watching

    /// An observable of barriers whose code threw or that refused their configuration, for the log (Behaviour B7, B9).
    public var barrierFailures: Observable<BarrierFailure> { barrierFailureSubject.observable }

    /// An observable of faults of writes to the store, for the log. The writes are repeated (Behaviour Q8).
    public var writeFaults: Observable<StoreFault> { settlements.faults.observable }

    /// An observable of the start of each new dispatcher that was moved to an earlier event, for the log (Behaviour
    /// R4).
    public var dispatcherStarts: Observable<DispatcherStarted> { rewinds.starts.observable }

    /// An observable of possible changes, for watchers (Behaviour B10). Without watchers it costs nothing.
    public var changes: Observable<GateChange> { changeSubject.observable }

    /// True if ``changes`` is observed.
    public var isWatched: Bool { changeSubject.isObserved }

    /// Reports that the description of a barrier may have changed, for descriptions that come from outside the gate.
    public func barriersChanged() {
        changeSubject.send(.barriers)
    }

    // MARK: Dispatchers

    /// Adds a dispatcher. A dispatcher that the store knows continues at its position; a new one starts where its
    /// settings say (Behaviour Q3, R4).
    /// - Parameter reachesNetwork: true if the destination is reached over a network, and is not this machine's
    ///   loopback, a file or a Unix socket (Behaviour B20).
    public func addDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool = false
    ) {
        // A saved pause belongs to an earlier dispatcher of this name if the store does not know the dispatcher.
        if dispatchers.known[settings.id] == nil { kept.endPause(of: settings.id) }
        dispatchers.add(
            settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork, pause: kept.pause(of: settings.id))
        if let dispatcher = dispatchers[settings.id] { rewinds.start(dispatcher) }
        dispatchersChanged()
    }

    /// Applies new settings to a dispatcher. No event is lost or sent twice because of it (Behaviour S3).
    /// - Parameter sender: the new sender; nil to keep the present one.
    /// - Returns: false if there is no such dispatcher.
    @discardableResult
    public func changeDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: (any Sender)?, reachesNetwork: Bool
    ) -> Bool {
        guard let dispatcher = dispatchers[settings.id] else { return false }
        dispatcher.change(to: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork)
        dispatchersChanged()
        return true
    }

    /// Removes a dispatcher: it sends no more batches and finishes those in flight, and its queue is kept for the
    /// retention time (Behaviour Q3). Flushes do not wait for it. An operator's pause is deleted, so that a later
    /// dispatcher of this name is not paused.
    public func removeDispatcher(_ id: String) {
        guard dispatchers.remove(id) else { return }
        rewinds.dispatcherRemoved(id)
        kept.endPause(of: id)
        dispatchersChanged()
    }

    /// Updates everything that depends on the list of dispatchers and their settings.
    private func dispatchersChanged() {
        barriers.refreshDefaultScopes()
        loadRules.dispatchersChanged(
            dispatchers.present.compactMap { dispatcher in
                dispatcher.settings.loadRule.map { (dispatcher.number, $0) }
            })
        dispatchers.renewRoute()
    }

    /// Records which known dispatchers are not configured. Their queues are kept for the retention time (Behaviour Q3).
    public func noteOrphans() {
        dispatchers.noteOrphans()
        // A pause belongs to one dispatcher, and a later one of the same name is not paused.
        for id in dispatchers.orphanIDs { kept.endPause(of: id) }
        finishErasure()
    }

    /// Takes up an erasure that an earlier process began. All dispatchers are known by now.
    private func finishErasure() {
        guard isErasing else { return }
        isErasing = false
        let object = kept[KeptErasure.name].flatMap { $0.withUnsafeBytes(environment.readObject) }
        let request = object.flatMap { KeptErasure(kept: $0) }
        erasures.finishEarlier(request) { (rule) throws(RuleFault) in try loadRules.resolve(rule) }
    }

    // MARK: Routes

    /// Returns the route of an event for all dispatchers or for the given ones, or nil if one of these is unknown.
    public func route(narrowedTo ids: [String]? = nil) throws(TooManyRoutes) -> RouteNumber? {
        guard let ids else { return dispatchers.routeToAll }
        let numbers = ids.map { dispatchers[$0]?.number }
        guard !numbers.contains(nil) else { return nil }
        return try routeNumber(of: Set(numbers.compactMap { $0 }))
    }

    /// Returns the route without the dispatchers whose load rules refuse an event (Behaviour P3).
    public func route(_ route: RouteNumber, for event: some EventFields) throws(TooManyRoutes) -> RouteNumber {
        let refusing = loadRules.refusing(event)
        guard !refusing.isEmpty else { return route }
        return try routeNumber(of: events.routes.dispatchers(of: route).filter { !refusing.contains($0) })
    }

    /// Returns the route number of a set of dispatchers that an event requests. If there are too many sets, unused ones
    /// are forgotten by the next turn.
    private func routeNumber(of dispatchers: some Sequence<DispatcherNumber>) throws(TooManyRoutes) -> RouteNumber {
        do throws(TooManyRoutes) {
            return try events.routes.number(requested: dispatchers)
        } catch {
            settlements.evaluateSoon()
            throw error
        }
    }

    // MARK: Network

    /// Adds a ConnectivityBarrier before the dispatchers that reach the network (Behaviour B20). Call it only after the
    /// program has begun to set ``network``: otherwise the barrier would block these dispatchers.
    public func watchNetwork() {
        let id = ConnectivityBarrier.id
        guard !coordinator.isTaken(id) else { return }
        // An empty configuration cannot have a fault, but a factory of the program's own may still throw.
        do {
            try barriers.configure(id: id, kind: id, scopes: nil, configuration: [:])
        } catch {
            barrierFailed(BarrierFailure(barrier: BarrierIdentity(id: id, kind: id), error: error))
        }
    }

    private func networkChanged(to state: NetworkState) {
        // The reason for a closed barrier may have changed without a change of its state.
        barriersChanged()
        let isReturn = networkReturn.isReturn(to: state)
        guard flushesOnReturn else { return }
        // Some ConnectivityBarriers are notified of the change after the gate, in this turn.
        scheduler.atEndOfTurn(.facts) { [weak self] in self?.flushBehindOpenConnectivity(isReturn, state) }
    }

    /// Flushes the dispatchers whose ConnectivityBarriers are all open now: all of them after the return of the network,
    /// else those that a ConnectivityBarrier blocked after the last change of the network (Behaviour F5). So a connection
    /// of the wrong kind flushes nothing, and one of the right kind after it does.
    private func flushBehindOpenConnectivity(_ isReturn: Bool, _ state: NetworkState) {
        guard !isStopping else { return }
        let states = barrierSummaries.filter { $0.identity.kind == ConnectivityBarrier.id }.flatMap(\.states)
        let closed = Set(states.filter { $0.state != .open }.map(\.dispatcher))
        let open = Set(states.map(\.dispatcher)).subtracting(closed)
        flushAutomatically((isReturn ? open : open.intersection(withoutConnection)).sorted())
        // A change from an unknown network state is not a return of the network.
        withoutConnection = state == .unknown ? [] : closed
    }

    /// Starts a flush without a timeout, which lasts until everything it covers is settled (Behaviour F5).
    /// - Parameter dispatchers: the dispatchers' ids; nil for all.
    public func flushAutomatically(_ dispatchers: [String]? = nil) {
        automaticFlushes.begin(dispatchers ?? self.dispatchers.ids, of: self)
    }

    // MARK: Stopping

    /// True if an orderly stop is running.
    public var isStopping: Bool { stopping != nil }

    /// Stops in an orderly way (Behaviour D11, F5): pending events are sent as far as barriers allow, and batches in
    /// flight are finished, within a time limit. The rest stays stored. The stop does not wait for dispatchers that are
    /// backing off. A store that does not answer is abandoned five seconds after the limit. A second call joins the
    /// running stop.
    /// - Parameters:
    ///   - timeout: the time limit.
    ///   - flushing: true if the stop begins with a flush.
    ///   - then: is called once the store is closed or abandoned; at once if that has happened already.
    public func stop(within timeout: Duration, flushing: Bool, then: @escaping (StopOutcome) -> Void) {
        if let stopping { return stopping.whenEnded(then) }
        let stop = OrderlyStop(gate: self, within: timeout, flushing: flushing)
        stopping = stop
        housekeeping.end()
        stop.whenEnded(then)
        stop.begin()
    }
}

// MARK: - End of the turn

extension Headgate: GateHost {
    func turnEnded(toEvaluate evaluated: [any EvaluatedDispatcher]) {
        guard stopping?.isClosing != true else { return }
        // Read the clocks once for the whole end of the turn: reading them takes as long as most of the work.
        let present = events.clockPair()
        clock.keepIfJumped(present)
        dispatchers.makeRoom(at: present.stamp)
        dispatchers.evaluate(evaluated, at: present.stamp)
        changeSubject.send(.progress)
        housekeeping.schedule()
        stopping?.check()
    }

    func dispatcher(_ id: String) -> (any EvaluatedDispatcher)? { dispatchers.there(id) }

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
        dispatchers.isBeingRewound ? [] : events.forgetUnusedRoutes(except: dispatchers.routeToAll)
    }

    /// The kind of the machine's network connection; nil if it is unknown (Behaviour D13).
    public var networkConnectionType: String? { network.value.kind?.rawValue }

    var boardActivator: (any BoardActivator)? { environment.boardActivator }
}
