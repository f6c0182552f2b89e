import HeadgateCore
import HeadgateData

/// A whole gate for tests: with a memory store, a manual scheduler, and a ``RecordingSender`` for each dispatcher.
///
///     let bench = GateBench()
///     bench.track(3)
///     bench.settle()
///     bench["collect"].answer(.status(503))
///     bench.advance(by: .seconds(1))
public final class GateBench {
    public let scheduler: ManualScheduler
    public let store: FaultyStore
    public private(set) var gate: Headgate
    /// The configured dispatchers. A change takes effect at a restart.
    public var dispatchers: [DispatcherSettings]
    public var limits: StoreLimits
    /// The random number for waits, from 0 to 1. With 1, waits have their maximum length (Behaviour D4).
    public var chance = 1.0
    /// The format of the destinations.
    public var format = BatchFormat.jsonArray
    /// The reply of senders that are created from now on, if they answer by themselves.
    public var reply: ((Batch) -> SendResult?)?
    /// The admission and the store's fault of each acknowledged event, in the order of the acknowledgements.
    public private(set) var acknowledgements: [(admission: Admission, fault: StoreFault?)] = []

    private let setEnvironment: (inout GateEnvironment) -> Void
    private var senders: [String: RecordingSender] = [:]
    private var nextId = 1

    public init(
        _ dispatchers: [DispatcherSettings] = [DispatcherSettings(id: "collect")], limits: StoreLimits = StoreLimits(),
        format: BatchFormat = .jsonArray, wall: Timestamp = Timestamp(milliseconds: 1_800_000_000_000),
        reply: ((Batch) -> SendResult?)? = nil,
        environment: @escaping (inout GateEnvironment) -> Void = { _ in }
    ) {
        let scheduler = ManualScheduler(wall: wall)
        self.scheduler = scheduler
        self.dispatchers = dispatchers
        self.limits = limits
        self.format = format
        self.reply = reply
        setEnvironment = environment
        store = FaultyStore(scheduler: scheduler)
        gate = Headgate(scheduler: scheduler, store: store, state: StoredState(), limits: limits)
        build(StoredState())
        settle()
    }

    /// Creates a bench with one dispatcher `collect`, whose settings the test changes.
    public convenience init(limits: StoreLimits = StoreLimits(), _ change: (inout DispatcherSettings) -> Void) {
        var settings = DispatcherSettings(id: "collect")
        change(&settings)
        self.init([settings], limits: limits)
    }

    /// Restarts the gate, as if the process were killed: its memory is lost, and the store is opened again.
    /// - Parameter furnish: adds barriers in the first turn.
    public func restart(_ furnish: (GateBench) throws -> Void = { _ in }) throws {
        scheduler.restart()
        store.forgetHeld()
        build(try store.open())
        try furnish(self)
        settle()
    }

    private func build(_ state: StoredState) {
        var environment = GateEnvironment(
            chance: { [unowned self] in self.chance }, patternCompiler: LiteralPatterns())
        setEnvironment(&environment)
        gate = Headgate(scheduler: scheduler, store: store, state: state, limits: limits, environment: environment)
        senders = [:]
        for settings in dispatchers { add(settings) }
        gate.noteOrphans()
    }

    /// Adds a dispatcher to the running gate.
    public func add(_ settings: DispatcherSettings) {
        let sender = RecordingSender(scheduler: scheduler, format: format, reply: reply)
        senders[settings.id] = sender
        gate.addDispatcher(settings, kind: "recording", sender: sender)
    }

    // MARK: Events

    /// Offers an event without ending the turn. Returns nil if it is for an unknown dispatcher, or if there are too
    /// many sets of dispatchers.
    @discardableResult
    public func track(_ draft: EventDraft) -> Admission? {
        guard let route = try? gate.route(narrowedTo: draft.dispatchers) else { return nil }
        defer { nextId += 1 }
        let admission = draft.withTracked(route: route, spareId: "made-\(nextId)", gate.events.admit)
        gate.events.whenCommitted { [weak self] in self?.acknowledgements.append((admission, $0)) }
        return admission
    }

    /// Offers events in one turn, and ends the turn.
    public func track(_ count: Int, _ draft: EventDraft = EventDraft()) {
        for _ in 0..<count { track(draft) }
        settle()
    }

    // MARK: Time

    /// Ends the turn and all turns that follow from it. It also advances the clock over waits of up to a millisecond,
    /// because less than a full batch waits that long for more events after an answer.
    public func settle() {
        scheduler.settle()
        let linger = Duration.milliseconds(1)
        for _ in 0..<10_000 {
            guard let next = scheduler.nextDeadline, next <= scheduler.now + linger else { return }
            advance(by: linger)
        }
    }

    /// Advances the clocks.
    public func advance(by duration: Duration) {
        scheduler.advance(by: duration)
    }

    // MARK: Queries

    /// The sender of a dispatcher.
    public subscript(_ dispatcherId: String) -> RecordingSender {
        guard let sender = senders[dispatcherId] else { preconditionFailure("no dispatcher \(dispatcherId)") }
        return sender
    }

    /// The sender of `collect`.
    public var sender: RecordingSender { self["collect"] }

    /// Returns the summary of a dispatcher.
    public func summary(of dispatcherId: String = "collect") -> DispatcherSummary {
        guard let summary = gate.dispatcherSummaries.first(where: { $0.id == dispatcherId }) else {
            preconditionFailure("no dispatcher \(dispatcherId)")
        }
        return summary
    }

    /// Returns the summary of a barrier, or nil if there is none with this id.
    public func barrier(_ id: String) -> BarrierSummary? {
        gate.barrierSummaries.first { $0.identity.id == id }
    }

    public var counters: Counters<EventCounter> { gate.counts.all }
}
