import HeadgateData

/// All that the service does with events, without sockets, files or threads: accepts them into the queue, and sees them
/// through barriers to their dispatchers.
///
/// It lives on the worker. Facts come in by method calls; what follows from them is done at the end of the turn.
public final class Headgate {
    public let worker: any Worker
    public let events: EventQueue
    public let board = CounterBoard()
    /// The machine's network connection, set by whoever watches it (Behaviour B21).
    public let network = StateSubject(NetworkState.unknown)
    /// What clients announced about themselves, set by whoever serves them (Behaviour B26).
    public let clientStatuses = StateSubject(ClientStatuses())
    /// Finds a time zone by its name, or the machine's for nil (Behaviour B24).
    public var timeZone: (String?) -> TimeZoneRules? = TimeZoneRules.named
    /// Whether somebody sets ``network``. From then on a ConnectivityBarrier stands before the dispatchers that reach the
    /// network (Behaviour B20); before, it could only hold them for ever. It stays even if this is taken back.
    public var watchesNetwork = false {
        didSet { if watchesNetwork { addConnectivityBarrier() } }
    }
    /// Compiles the regular expressions in rules (Behaviour S5). Until one is given, a rule with a regular expression has a
    /// fault. Set before rules are.
    public var patternCompiler: any PatternCompiler = NoPatternCompiler() { didSet { prepareLoadRules() } }
    /// Runs the boards that stand before dispatchers (Behaviour A9). Until there is one they wait.
    public weak var boardActivator: (any BoardActivator)? {
        didSet {
            // What they wait for is a reason to be told (Behaviour B10).
            serving?.dispose()
            serving = boardActivator?.servingChanges.subscribe { [weak self] in self?.barriersChanged() }
            dispatcherIds.forEach(markDirty)
        }
    }
    /// Barriers whose code threw, or that refused their configuration, for the log (Behaviour B7, B9).
    public var barrierFailures: Observable<BarrierFailure> { barrierFailureSubject.observable }
    /// What may have changed, for those who watch (Behaviour B10). While nobody does it costs nothing.
    public var changes: Observable<GateChange> { changeSubject.observable }
    /// Whether anybody watches ``changes``.
    public var isWatched: Bool { changeSubject.isObserved }
    /// How long a flush may last that begins with the network's return (Behaviour F5); nil: none begins.
    public var flushOnReturn: Duration?

    let barrierFailureSubject = PulseSubject<BarrierFailure>()
    private let changeSubject = PulseSubject<GateChange>()
    private var serving: (any Disposable)?
    /// What the gate follows for as long as it lives.
    private var followed: [any Disposable] = []
    private var networkReturn = NetworkReturn()
    private(set) var coordinator: BarrierCoordinator
    private(set) lazy var configured = makeConfiguredBarriers()
    /// The barriers that clients registered (Behaviour B29).
    public private(set) lazy var remoteBarriers = makeRemoteBarriers()
    private(set) lazy var letterDesk = makeLetterDesk()
    let flushes: Flushes
    let settlements: Settlements
    let depths = QueueDepths()
    let transformations = Transformations()
    /// The load rules by their ids (Behaviour S5).
    public internal(set) var loadRules = LoadRules() { didSet { prepareLoadRules() } }
    var loadRouting = LoadRouting()
    var dispatchers: [String: Dispatcher] = [:]
    /// Dispatchers that were removed and have batches on their way.
    var leaving: [String: Dispatcher] = [:]
    /// Every dispatcher the store knows, configured or not.
    var known: [String: StoredDispatcher]
    var kept: [String: [UInt8]]
    private var dirty: Set<String> = []
    private var isDrainDue = false
    /// The next look at what has become too old.
    var sweep: (any Disposable)?
    /// When orphans and ids are looked at next.
    var nextChores: Instant
    /// Whether the backlog is being looked through for what is too old, since when, and when next.
    var isSweeping = false
    var passBegan: Instant
    var nextPass: Instant
    private let chance: () -> Double
    /// What was kept last of the age scale.
    var keptClock: ClockPair
    var nextFlush = 0
    /// The flush that began with the network's return, while it is under way.
    var returnFlush: String?
    /// The route of an event that all dispatchers want.
    public internal(set) var routeToAll = RouteTable.nobody
    /// The orderly stop under way.
    var stopping: OrderlyStop?

    /// - Parameters:
    ///   - state: what the store gave back when it was opened.
    ///   - chance: gives numbers from 0 to 1, for the length of waits.
    public init(
        worker: any Worker, store: any EventStore, state: StoredState, limits: StoreLimits,
        chance: @escaping () -> Double = { Double.random(in: 0...1) }
    ) {
        self.worker = worker
        self.chance = chance
        (nextChores, passBegan, nextPass) = (worker.now + .seconds(60), worker.now, worker.now)
        events = EventQueue(worker: worker, store: store, limits: limits, state: state)
        keptClock = events.clockPair()
        flushes = Flushes(worker: worker)
        settlements = Settlements(worker: worker, store: store)
        known = Dictionary(state.dispatchers.map { ($0.id, $0) }) { first, _ in first }
        kept = state.kept
        let changes = ChangeRelay()
        coordinator = BarrierCoordinator(worker: worker) { changes.onChange($0) }
        changes.onChange = { [weak self] in self?.wayChanged($0) }
        follow(coordinator.barriersChanges.observable) { gate, _ in gate.barriersChanged() }
        follow(coordinator.failures.observable) { $0.barrierFailed($1) }
        follow(network.wrappedValue) { $0.networkChanged(to: $1) }
        flushes.onChange = { [weak self] in self?.wayChanged($0) }
        flushes.blockers = { [weak self] id in self?.coordinator.blockers(of: id, flushing: true).map(\.id) ?? [] }
        settlements.trimPoint = { [weak self] in self?.trim() ?? 0 }
        settlements.unusedRoutes = { [weak self] in
            self.map { $0.events.forgetUnusedRoutes(except: $0.routeToAll) } ?? []
        }
        events.onStored = { [weak self] in self?.stored($0, behind: $1) }
        settlements.add(.keep(DedupeKey.name, events.dedupeKey.kept))
        keepClock(isDue: true)
    }

    /// Those that were removed and have something on its way among them.
    var everyDispatcher: [Dispatcher] { Array(dispatchers.values) + Array(leaving.values) }

    var surroundings: Dispatcher.Surroundings {
        Dispatcher.Surroundings(
            events: events, coordinator: coordinator, flushes: flushes, settlements: settlements, depths: depths,
            board: board, chance: chance,
            networkConnectionType: { [weak self] in self?.networkConnectionType },
            markDirty: { [weak self] in self?.markDirty($0) }, transformations: transformations,
            boardActivator: { [weak self] in self?.boardActivator })
    }

    /// Whether an orderly stop is under way.
    public var isStopping: Bool { stopping != nil }

    // MARK: The turn

    /// Has a dispatcher look again at the end of the turn.
    func markDirty(_ id: String) {
        dirty.insert(id)
        guard !isDrainDue else { return }
        isDrainDue = true
        worker.soon { [weak self] in
            self?.isDrainDue = false
            self?.drain()
        }
    }

    private func wayChanged(_ id: String) {
        markDirty(id)
        changeSubject.send(.way)
    }

    /// Something is told of barriers now that was not before; for those whose words come from elsewhere.
    public func barriersChanged() {
        changeSubject.send(.barriers)
    }

    /// Has the gate told of something for as long as it lives.
    func follow<Value>(_ observable: Observable<Value>, _ tell: @escaping (Headgate, Value) -> Void) {
        followed.append(observable.subscribe { [weak self] in if let self { tell(self, $0) } })
    }

    private func networkChanged(to state: NetworkState) {
        guard networkReturn.isReturn(to: state), let flushOnReturn, !isStopping else { return }
        flushBehindConnectivity(timeout: flushOnReturn)
    }

    private func drain() {
        let ids = dirty.sorted()
        dirty = []
        guard stopping?.isClosing != true else { return }
        keepClock(isDue: false)
        makeRoom()
        for id in ids { dispatchers[id]?.look() }
        ids.forEach(finishLeaving)
        changeSubject.send(.progress)
        scheduleSweep()
        stopping?.look()
    }

    private func stored(_ tallies: [RouteNumber: Tally], behind previous: SequenceNumber) {
        var counts: [DispatcherNumber: Int] = [:]
        for (route, tally) in tallies {
            for number in events.routes.dispatchers(of: route) { counts[number, default: 0] += tally.events }
        }
        for dispatcher in dispatchers.values {
            guard let count = counts[dispatcher.number] else { continue }
            dispatcher.stored(count, behind: previous)
            markDirty(dispatcher.id)
        }
    }
}

/// Lets the coordinator, which is made first, tell the gate that is made around it.
private final class ChangeRelay {
    var onChange: (String) -> Void = { _ in }
}
