import HeadgateCore
import HeadgateData

/// A whole gate on a bench: over a memory store and a manual scheduler, every dispatcher with a ``RecordingSender``.
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
    /// What is configured; a restart takes it up.
    public var dispatchers: [DispatcherSettings]
    public var limits: StoreLimits
    /// What chance gives, from 0 to 1: 1 makes waits as long as they can be (Behaviour D4).
    public var chance = 1.0
    /// How the destinations want their events.
    public var format = BatchFormat.jsonArray
    /// How senders made from now on answer by themselves.
    public var reply: ((Batch) -> SendResult?)?
    /// What became of the events that were offered: the store's fault, or nil, for each one, in order of its answer.
    public private(set) var acknowledgements: [(admission: Admission, fault: StoreFault?)] = []

    private let surround: (inout GateSurroundings) -> Void
    private var senders: [String: RecordingSender] = [:]
    private var nextId = 1

    public init(
        _ dispatchers: [DispatcherSettings] = [DispatcherSettings(id: "collect")], limits: StoreLimits = StoreLimits(),
        format: BatchFormat = .jsonArray, wall: Timestamp = Timestamp(milliseconds: 1_800_000_000_000),
        reply: ((Batch) -> SendResult?)? = nil,
        surroundings: @escaping (inout GateSurroundings) -> Void = { _ in }
    ) {
        let scheduler = ManualScheduler(wall: wall)
        self.scheduler = scheduler
        self.dispatchers = dispatchers
        self.limits = limits
        self.format = format
        self.reply = reply
        surround = surroundings
        store = FaultyStore(scheduler: scheduler)
        gate = Headgate(scheduler: scheduler, store: store, state: StoredState(), limits: limits)
        build(StoredState())
        settle()
    }

    /// One dispatcher `collect`, with settings of the test's.
    public convenience init(limits: StoreLimits = StoreLimits(), _ change: (inout DispatcherSettings) -> Void) {
        var settings = DispatcherSettings(id: "collect")
        change(&settings)
        self.init([settings], limits: limits)
    }

    /// What the process loses when it is killed is lost; what the store kept comes back.
    /// - Parameter furnish: puts barriers before the dispatchers, in the first turn.
    public func restart(_ furnish: (GateBench) throws -> Void = { _ in }) throws {
        scheduler.restart()
        store.forgetHeld()
        build(try store.open())
        try furnish(self)
        settle()
    }

    private func build(_ state: StoredState) {
        var surroundings = GateSurroundings(
            chance: { [unowned self] in self.chance }, patternCompiler: LiteralPatterns())
        surround(&surroundings)
        gate = Headgate(scheduler: scheduler, store: store, state: state, limits: limits, surroundings: surroundings)
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

    /// Offers an event, without ending the turn. Nil when it is narrowed to a dispatcher that there is not, or to a set
    /// too many.
    @discardableResult
    public func track(_ draft: EventDraft) -> Admission? {
        guard let route = try? gate.route(narrowedTo: draft.dispatchers) else { return nil }
        defer { nextId += 1 }
        let admission = draft.withTracked(route: route, spareId: "made-\(nextId)", gate.events.admit)
        gate.events.whenCommitted { [weak self] in self?.acknowledgements.append((admission, $0)) }
        return admission
    }

    /// Offers some events, in one turn, and ends it.
    public func track(_ count: Int, _ draft: EventDraft = EventDraft()) {
        for _ in 0..<count { track(draft) }
        settle()
    }

    // MARK: Time

    /// Ends the turn, and all that follow from it. What would follow within a millisecond has that: few events wait so long for
    /// more behind an answer.
    public func settle() {
        scheduler.settle()
        let linger = Duration.milliseconds(1)
        for _ in 0..<10_000 {
            guard let next = scheduler.nextDeadline, next <= scheduler.now + linger else { return }
            advance(by: linger)
        }
    }

    /// Moves the clocks.
    public func advance(by duration: Duration) {
        scheduler.advance(by: duration)
    }

    // MARK: Queries

    /// A dispatcher's destination.
    public subscript(_ dispatcherId: String) -> RecordingSender {
        guard let sender = senders[dispatcherId] else { preconditionFailure("no dispatcher \(dispatcherId)") }
        return sender
    }

    /// The destination of `collect`.
    public var sender: RecordingSender { self["collect"] }

    /// A dispatcher as people see it.
    public func summary(of dispatcherId: String = "collect") -> DispatcherSummary {
        guard let summary = gate.dispatcherSummaries.first(where: { $0.id == dispatcherId }) else {
            preconditionFailure("no dispatcher \(dispatcherId)")
        }
        return summary
    }

    /// A barrier as people see it; nil when there is none of this id.
    public func barrier(_ id: String) -> BarrierSummary? {
        gate.barrierSummaries.first { $0.identity.id == id }
    }

    public var counters: Counters<EventCounter> { gate.counts.all }
}
