import HeadgateData

/// Knows every barrier, the dispatchers it stands before, and so the way to each dispatcher.
///
/// Barriers push their changes in; the coordinator tells which dispatcher's way changed. Nothing is asked again for an
/// event, so an event does not pay for barriers that did not change.
public final class BarrierCoordinator {
    private let scheduler: any Scheduler
    private var entries: [BarrierKey: BarrierEntry] = [:]
    private var ways: [String: Way] = [:] {
        didSet { version += 1 }
    }
    /// Counts on whenever something that is told of ways may have changed: who remembers an answer can see whether it still holds.
    @exclusivity(unchecked) private(set) var version = 0
    private var nextKey = 0
    /// Is told each time that a way may have changed; each time that a barrier comes, goes or is described anew, also when
    /// that changes no way; and of each barrier whose code threw (Behaviour B9).
    private let turn: TurnRecord

    init(scheduler: any Scheduler, turn: TurnRecord) {
        self.scheduler = scheduler
        self.turn = turn
    }

    // MARK: Dispatchers

    /// A dispatcher exists now: barriers in whose scope it is stand before it.
    func addDispatcher(_ id: String) {
        guard ways[id] == nil else { return }
        ways[id] = Way()
        for (key, entry) in entries where entry.scopes.cover(id) { observe(key, for: id) }
    }

    /// A dispatcher is gone.
    func removeDispatcher(_ id: String) {
        for entry in entries.values { entry.forget(id) }
        ways[id] = nil
    }

    func hasDispatcher(_ id: String) -> Bool {
        ways[id] != nil
    }

    /// The way to a dispatcher; without barriers it is open (Behaviour B1).
    func way(to dispatcherId: String) -> Way {
        ways[dispatcherId] ?? Way()
    }

    // MARK: Barriers

    /// Puts a barrier before the dispatchers in its scopes; the same instance again replaces its scopes and identity
    /// (Behaviour B8).
    /// - Parameter stateOnError: its state when it fails (Behaviour B9).
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
            // What it says while it is registered is told with that.
            let isNews = entry.flushability != nil && entry.isFlushable != isFlushable
            entry.isFlushable = isFlushable
            for id in entry.observations.keys { self.report(key, for: id) { $0.isFlushable = isFlushable } }
            // It may stand before nobody, so that no way tells.
            if isNews { self.turn.barriersChanged() }
        }
        for id in ways.keys where scopes.cover(id) { observe(key, for: id) }
    }

    /// Takes a barrier away; an unknown one changes nothing (Behaviour B8).
    /// - Returns: whether it stood anywhere.
    @discardableResult
    func unregister(_ barrier: any Barrier) -> Bool {
        scheduler.preconditionOnScheduler()
        guard let key = key(of: barrier) else { return false }
        rescope(key, to: [])
        entries.removeValue(forKey: key)?.flushability?.dispose()
        turn.barriersChanged()
        return true
    }

    /// Notes the settings that a barrier works with.
    func setConfiguration(_ configuration: DataObject, of barrier: any Barrier) {
        guard let key = key(of: barrier) else { return }
        entries[key]?.configuration = configuration
        turn.barriersChanged()
    }

    /// Who a registered barrier is.
    func identity(of barrier: any Barrier) -> BarrierIdentity? {
        key(of: barrier).flatMap { entries[$0]?.identity }
    }

    /// Whether a barrier of this name stands anywhere.
    func isTaken(_ id: String) -> Bool {
        entries.values.contains { ExactName($0.identity.id) == ExactName(id) }
    }

    private func key(of barrier: any Barrier) -> BarrierKey? {
        entries.first { $0.value.barrier === barrier }?.key
    }

    private func rescope(_ key: BarrierKey, to scopes: [BarrierScope]) {
        guard let entry = entries[key] else { return }
        entry.scopes = scopes
        for id in ways.keys where scopes.cover(id) != (entry.observations[id] != nil) {
            scopes.cover(id) ? observe(key, for: id) : unobserve(key, for: id)
        }
    }

    // MARK: Changes

    private func observe(_ key: BarrierKey, for id: String) {
        guard let entry = entries[key] else { return }
        entry.observations[id] = DisposeAction {}
        report(key, for: id, isChange: false) { $0.isFlushable = entry.isFlushable }
        // What a barrier says of a dispatcher that comes is news for that one, and no change of the barrier.
        var isComing = true
        defer { isComing = false }
        let subscription = findings(of: entry.barrier, for: id).subscribe { [weak self, weak entry] finding in
            guard let self, let entry else { return }
            self.scheduler.preconditionOnScheduler()
            let state = self.state(by: finding, of: entry, for: id)
            self.report(key, for: id, isChange: !isComing) { $0.state = state }
        }
        entry.observations[id] = subscription
        entry.note(closed: ways[id]?.reports[key]?.blocks ?? true, for: id, at: scheduler.now)
    }

    private func findings(of barrier: any Barrier, for id: String) -> Observable<BarrierFinding> {
        (barrier as? any UncertainBarrier)?.onFinding(for: id) ?? barrier.onState(for: id).map { .state($0) }
    }

    /// A barrier that fails already has the new state at once: it may not say anything any more.
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
        ways[id]?.set(nil, of: key)
        turn.wayChanged(id)
    }

    /// Takes in what a barrier says now about one way.
    /// - Parameter isChange: false when it says how things have been all the time.
    private func report(
        _ key: BarrierKey, for id: String, isChange: Bool = true, _ change: (inout Way.Report) -> Void
    ) {
        guard let entry = entries[key], entry.observations[id] != nil, let way = ways[id] else { return }
        let old = way.reports[key]
        var new = old ?? Way.Report()
        change(&new)
        guard new != old else { return }
        if isChange {
            if new.state != old?.state { entry.since = scheduler.wall }
            entry.note(closed: new.blocks, for: id, at: scheduler.now)
        }
        ways[id]?.set(new, of: key)
        turn.wayChanged(id)
    }
}

extension BarrierCoordinator {
    /// Every barrier, those registered first in front.
    public var summaries: [BarrierSummary] {
        entries.sorted { $0.key < $1.key }.map { key, entry in summary(of: entry, key: key) }
    }

    /// For how long each barrier has held each dispatcher that it stands before (Behaviour O1): the barriers registered first
    /// in front, their dispatchers in this order.
    func closedTimes(of dispatchers: [String], _ tell: (_ barrier: String, _ dispatcher: String, ClosedTime) -> Void) {
        var names = NameSet()
        for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
            // A program may have two of one id, but who is told of both has to tell them apart.
            let isFirst = names.insert(entry.identity.id)
            let name = isFirst ? entry.identity.id : "\(entry.identity.id)#\(key)"
            for id in dispatchers { if let time = entry.closedTime(for: id) { tell(name, id, time) } }
        }
    }

    /// The ids of the barriers that hold a dispatcher now.
    func blockers(of dispatcherId: String, flushing: Bool) -> [BarrierIdentity] {
        way(to: dispatcherId).blockers(flushing: flushing).compactMap { entries[$0]?.identity }
    }

    private func summary(of entry: BarrierEntry, key: BarrierKey) -> BarrierSummary {
        let dispatchers = entry.observations.keys.sorted()
        let described = entry.barrier as? any DescribedBarrier
        return BarrierSummary(
            identity: entry.identity,
            scopes: entry.scopes,
            states: dispatchers.map { ($0, way(to: $0).reports[key]?.state) },
            isFlushable: entry.isFlushable ?? false,
            since: entry.since,
            reason: dispatchers.lazy.compactMap { described?.reason(for: $0) }.first
                ?? dispatchers.lazy.compactMap { entry.failures[$0] }.first,
            configuration: entry.configuration)
    }
}

/// A registered barrier with all that the coordinator keeps of it.
final class BarrierEntry {
    let barrier: any Barrier
    var identity: BarrierIdentity
    var scopes: [BarrierScope]
    /// The settings that it was made with or told last, for a configured one.
    var configuration: DataObject?
    /// Its state when it fails (Behaviour B9).
    var stateOnError = BarrierState.open
    /// What it failed of, by the dispatchers for which it has not recovered.
    var failures: [String: String] = [:]
    /// Its last word on being flushable; nil until it has given one.
    var isFlushable: Bool?
    /// When its state last changed.
    var since: Timestamp
    var flushability: (any Disposable)?
    /// Subscriptions to its state, by the dispatchers that it stands before.
    var observations: [String: any Disposable] = [:]
    /// For how long it has held each of them.
    private var closedTimes: [String: ClosedTime] = [:]

    init(barrier: any Barrier, identity: BarrierIdentity, scopes: [BarrierScope], since: Timestamp) {
        self.barrier = barrier
        self.identity = identity
        self.scopes = scopes
        self.since = since
    }

    /// For how long it has held a dispatcher; nil where it does not stand.
    func closedTime(for dispatcherId: String) -> ClosedTime? { closedTimes[dispatcherId] }

    /// It holds a dispatcher from now on, or does not.
    func note(closed: Bool, for dispatcherId: String, at now: Instant) {
        closedTimes[dispatcherId, default: ClosedTime()].set(closed: closed, at: now)
    }

    /// Stops listening for one dispatcher.
    func forget(_ dispatcherId: String) {
        failures[dispatcherId] = nil
        closedTimes[dispatcherId] = nil
        observations.removeValue(forKey: dispatcherId)?.dispose()
    }
}

/// A barrier whose code threw, or that refused its configuration (Behaviour B7, B9).
public struct BarrierFailure {
    public var barrier: BarrierIdentity
    public var error: any Error
}
