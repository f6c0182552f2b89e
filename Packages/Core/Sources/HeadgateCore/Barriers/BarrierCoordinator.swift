import HeadgateData

/// The combined states of all barriers: the barriers in scope of each dispatcher, and its state, open or blocked.
///
/// Barriers report changes, and the coordinator reports the affected dispatchers. No barrier is asked for each event,
/// so an event costs nothing for barriers that did not change.
public final class BarrierCoordinator {
    private let scheduler: any Scheduler
    private var entries: [BarrierKey: BarrierEntry] = [:]
    private var barriersByDispatcher: [String: DispatcherBarriers] = [:] {
        didSet { version += 1 }
    }
    /// A number that increases whenever an answer about a dispatcher may have changed. Callers use it to check cached
    /// answers.
    @exclusivity(unchecked) private(set) var version = 0
    private var nextKey = 0
    /// The record of possible changes. It gets each dispatcher that may have become open or blocked, and each change in
    /// the list or descriptions of barriers. It also gets each barrier whose code threw (Behaviour B9).
    private let turn: PendingEvaluations

    init(scheduler: any Scheduler, turn: PendingEvaluations) {
        self.scheduler = scheduler
        self.turn = turn
    }

    // MARK: Dispatchers

    /// Adds a dispatcher. The barriers in whose scope it is apply to it.
    func addDispatcher(_ id: String) {
        guard barriersByDispatcher[id] == nil else { return }
        barriersByDispatcher[id] = DispatcherBarriers()
        for (key, entry) in entries where entry.scopes.cover(id) { observe(key, for: id) }
    }

    /// Removes a dispatcher.
    func removeDispatcher(_ id: String) {
        for entry in entries.values { entry.forget(id) }
        barriersByDispatcher[id] = nil
    }

    func hasDispatcher(_ id: String) -> Bool {
        barriersByDispatcher[id] != nil
    }

    /// Returns the combined barriers of a dispatcher. Without barriers it is open (Behaviour B1).
    func barriers(before dispatcherId: String) -> DispatcherBarriers {
        barriersByDispatcher[dispatcherId] ?? DispatcherBarriers()
    }

    // MARK: Barriers

    /// Registers a barrier for the dispatchers in its scopes. Registering the same instance again replaces its scopes
    /// and identity (Behaviour B8).
    /// - Parameter stateOnError: the barrier's state when it fails (Behaviour B9).
    func register(
        _ barrier: any Barrier, identity: BarrierIdentity, scopes: [BarrierScope], stateOnError: BarrierState = .open
    ) {
        scheduler.preconditionOnScheduler()
        defer { turn.barriersChanged() }
        if let key = key(of: barrier) {
            entries[key]?.identity = identity
            version += 1
            rescope(key, to: scopes)
            return setStateOnError(stateOnError, of: key)
        }
        let key = nextKey
        nextKey += 1
        let entry = BarrierEntry(barrier: barrier, identity: identity, scopes: scopes, since: scheduler.wall)
        entry.stateOnError = stateOnError
        entries[key] = entry
        entry.flushability = barrier.isFlushable.subscribe { [weak self, weak entry] isFlushable in
            guard let self, let entry else { return }
            self.scheduler.preconditionOnScheduler()
            // A value during the registration needs no report of its own: the registration is reported.
            let isNews = entry.flushability != nil && entry.isFlushable != isFlushable
            entry.isFlushable = isFlushable
            for id in entry.observations.keys { self.report(key, for: id) { $0.isFlushable = isFlushable } }
            // Report it also for a barrier whose scope contains no dispatcher.
            if isNews { self.turn.barriersChanged() }
        }
        for id in barriersByDispatcher.keys where scopes.cover(id) { observe(key, for: id) }
    }

    /// Unregisters a barrier. Does nothing for an unknown one (Behaviour B8).
    /// - Returns: true if the barrier was registered.
    @discardableResult
    func unregister(_ barrier: any Barrier) -> Bool {
        scheduler.preconditionOnScheduler()
        guard let key = key(of: barrier) else { return false }
        rescope(key, to: [])
        entries.removeValue(forKey: key)?.flushability?.dispose()
        turn.barriersChanged()
        return true
    }

    /// Records the settings that a barrier uses.
    func setConfiguration(_ configuration: DataObject, of barrier: any Barrier) {
        guard let key = key(of: barrier) else { return }
        entries[key]?.configuration = configuration
        turn.barriersChanged()
    }

    /// Returns the identity of a registered barrier.
    func identity(of barrier: any Barrier) -> BarrierIdentity? {
        key(of: barrier).flatMap { entries[$0]?.identity }
    }

    /// Returns true if a barrier with this id is registered.
    func isTaken(_ id: String) -> Bool {
        entries.values.contains { ExactName($0.identity.id) == ExactName(id) }
    }

    private func key(of barrier: any Barrier) -> BarrierKey? {
        entries.first { $0.value.barrier === barrier }?.key
    }

    private func rescope(_ key: BarrierKey, to scopes: [BarrierScope]) {
        guard let entry = entries[key] else { return }
        entry.scopes = scopes
        for id in barriersByDispatcher.keys where scopes.cover(id) != (entry.observations[id] != nil) {
            scopes.cover(id) ? observe(key, for: id) : unobserve(key, for: id)
        }
    }

    // MARK: Changes

    private func observe(_ key: BarrierKey, for id: String) {
        guard let entry = entries[key] else { return }
        entry.observations[id] = DisposeAction {}
        report(key, for: id, isChange: false) { $0.isFlushable = entry.isFlushable }
        // The first state for a new dispatcher is not a change of the barrier.
        var isComing = true
        defer { isComing = false }
        let subscription = findings(of: entry.barrier, for: id).subscribe { [weak self, weak entry] finding in
            guard let self, let entry else { return }
            self.scheduler.preconditionOnScheduler()
            let state = self.state(by: finding, of: entry, for: id)
            self.report(key, for: id, isChange: !isComing) { $0.state = state }
        }
        entry.observations[id] = subscription
        entry.note(closed: barriersByDispatcher[id]?.reports[key]?.blocks ?? true, for: id, at: scheduler.now)
    }

    private func findings(of barrier: any Barrier, for id: String) -> Observable<BarrierFinding> {
        (barrier as? any UncertainBarrier)?.onFinding(for: id) ?? barrier.onState(for: id).map { .state($0) }
    }

    /// Sets the state for failures. A barrier that has failed gets the new state at once, since it may not report
    /// again.
    private func setStateOnError(_ state: BarrierState, of key: BarrierKey) {
        guard let entry = entries[key], entry.stateOnError != state else { return }
        entry.stateOnError = state
        for id in entry.failures.keys { report(key, for: id) { $0.state = state } }
    }

    private func state(by finding: BarrierFinding, of entry: BarrierEntry, for id: String) -> BarrierState? {
        guard case .failed(let error) = finding else {
            entry.failures[id] = nil
            return finding.state
        }
        entry.failures[id] = "\(error)"
        turn.host?.barrierFailed(BarrierFailure(barrier: entry.identity, error: error))
        return entry.stateOnError
    }

    private func unobserve(_ key: BarrierKey, for id: String) {
        entries[key]?.forget(id)
        barriersByDispatcher[id]?.set(nil, of: key)
        turn.stateChanged(id)
    }

    /// Records the state of a barrier for one dispatcher.
    /// - Parameter isChange: false if the state is the barrier's first one for the dispatcher.
    private func report(
        _ key: BarrierKey, for id: String, isChange: Bool = true, _ change: (inout DispatcherBarriers.Report) -> Void
    ) {
        guard let entry = entries[key], entry.observations[id] != nil, let barriers = barriersByDispatcher[id] else {
            return
        }
        let old = barriers.reports[key]
        var new = old ?? DispatcherBarriers.Report()
        change(&new)
        guard new != old else { return }
        if isChange {
            if new.state != old?.state { entry.since = scheduler.wall }
            entry.note(closed: new.blocks, for: id, at: scheduler.now)
        }
        barriersByDispatcher[id]?.set(new, of: key)
        turn.stateChanged(id)
    }
}

extension BarrierCoordinator {
    /// All barriers in the order of their registration.
    public var summaries: [BarrierSummary] {
        entries.sorted { $0.key < $1.key }.map { key, entry in summary(of: entry, key: key) }
    }

    /// Reports the time for which each barrier has blocked each dispatcher in its scope (Behaviour O1), in the order of
    /// the barriers' registration and of `dispatchers`.
    func closedTimes(of dispatchers: [String], _ report: (_ barrier: String, _ dispatcher: String, ClosedTime) -> Void)
    {
        var names = NameSet()
        for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
            // A program may register two barriers with one id. The report has to tell them apart.
            let isFirst = names.insert(entry.identity.id)
            let name = isFirst ? entry.identity.id : "\(entry.identity.id)#\(key)"
            for id in dispatchers { if let time = entry.closedTime(for: id) { report(name, id, time) } }
        }
    }

    /// Returns the barriers that block a dispatcher now.
    func blockers(of dispatcherId: String, flushing: Bool) -> [BarrierIdentity] {
        barriers(before: dispatcherId).blockers(flushing: flushing).compactMap { entries[$0]?.identity }
    }

    private func summary(of entry: BarrierEntry, key: BarrierKey) -> BarrierSummary {
        let dispatchers = entry.observations.keys.sorted()
        let described = entry.barrier as? any DescribedBarrier
        return BarrierSummary(
            identity: entry.identity,
            scopes: entry.scopes,
            states: dispatchers.map { ($0, barriers(before: $0).reports[key]?.state) },
            isFlushable: entry.isFlushable ?? false,
            since: (entry.barrier as? ManualBarrier)?.pausedSince ?? entry.since,
            reason: dispatchers.lazy.compactMap { described?.reason(for: $0) }.first
                ?? dispatchers.lazy.compactMap { entry.failures[$0] }.first,
            configuration: entry.configuration)
    }
}

/// A registered barrier with its state in the coordinator.
final class BarrierEntry {
    let barrier: any Barrier
    var identity: BarrierIdentity
    var scopes: [BarrierScope]
    /// The present settings of a configured barrier; nil for others.
    var configuration: DataObject?
    /// The barrier's state when it fails (Behaviour B9).
    var stateOnError = BarrierState.open
    /// The errors of the barrier, by dispatcher, until it recovers.
    var failures: [String: String] = [:]
    /// The last value of the barrier's flushability; nil until it has given one.
    var isFlushable: Bool?
    /// The time of the last change of state.
    var since: Timestamp
    var flushability: (any Disposable)?
    /// The subscriptions to the barrier's state, by dispatcher in its scope.
    var observations: [String: any Disposable] = [:]
    /// The time for which the barrier has blocked each dispatcher.
    private var closedTimes: [String: ClosedTime] = [:]

    init(barrier: any Barrier, identity: BarrierIdentity, scopes: [BarrierScope], since: Timestamp) {
        self.barrier = barrier
        self.identity = identity
        self.scopes = scopes
        self.since = since
    }

    /// Returns the time for which the barrier has blocked a dispatcher, or nil if the dispatcher is not in its scope.
    func closedTime(for dispatcherId: String) -> ClosedTime? { closedTimes[dispatcherId] }

    /// Records that the barrier blocks a dispatcher from now on, or does not.
    func note(closed: Bool, for dispatcherId: String, at now: Instant) {
        closedTimes[dispatcherId, default: ClosedTime()].set(closed: closed, at: now)
    }

    /// Unsubscribes for one dispatcher.
    func forget(_ dispatcherId: String) {
        failures[dispatcherId] = nil
        closedTimes[dispatcherId] = nil
        observations.removeValue(forKey: dispatcherId)?.dispose()
    }
}
