import HeadgateData

/// The barriers that settings configure, or that a program adds through factories, by id (Behaviour B5, B7).
public final class ConfiguredBarriers {
    /// The factories of barriers, by kind.
    public var factories: [String: any BarrierFactory] = [:]
    /// The record whose host gets each barrier whose code threw or that refused its configuration.
    private let turn: PendingEvaluations
    private let coordinator: BarrierCoordinator
    private var entries = NameTable<Entry>()
    /// Returns the services that new barriers may use. The gate sets it.
    var context: () -> BarrierContext = { preconditionFailure("barriers of no gate") }

    private struct Entry {
        var barrier: any Barrier
        var kind: String
        /// The scopes; nil for the factory's default.
        var scopes: [BarrierScope]?
        var stateOnError: BarrierState
    }

    /// - Parameter dispatchers: the dispatchers from which a ConnectivityBarrier gets its default scopes.
    init(coordinator: BarrierCoordinator, turn: PendingEvaluations, dispatchers: Dispatchers) {
        self.coordinator = coordinator
        self.turn = turn
        for factory in Barriers.builtIn { factories[factory.kind] = factory }
        factories[ConnectivityBarrier.id] = ConnectivityBarrier.Factory { [dispatchers] in
            dispatchers.ids.filter { dispatchers[$0]?.reachesNetwork == true }.map { .dispatcher(id: $0) }
        }
    }

    /// The kind of the barrier of a dispatcher of kind `worker`.
    public static let worker = "WorkerBarrier"
    /// The kinds of barriers of which each dispatcher has its own. Their ids end with the dispatcher's id.
    public static let ownKinds = [
        ManualBarrier.kind, BackoffBarrier.kind, DeadLettersBarrier.kind, ActivationGate.kind, worker,
    ]

    /// Returns true if an id is that of a dispatcher's own barrier.
    public static func isOwn(_ id: String) -> Bool { ownKinds.contains { id.utf8.starts(with: "\($0):".utf8) } }

    /// Returns true if an id is reserved for the service's own barriers, or for a kind that settings may name later.
    func isReserved(_ id: String) -> Bool {
        factories[id] != nil || ConfiguredBarriers.ownKinds.contains(id) || ConfiguredBarriers.isOwn(id)
    }

    /// Returns true if a barrier is a configured one.
    func contains(_ barrier: any Barrier) -> Bool {
        entries.contains { $0.value.barrier === barrier }
    }

    /// Creates a configured barrier for the dispatchers in its scopes. An existing barrier with this id gets the new
    /// configuration, or is replaced if it is of another kind.
    ///
    /// If the factory throws an error that is not a configuration fault, the error is counted and reported, and the
    /// barrier's state is `stateOnError` until it is configured again (Behaviour B9).
    /// - Parameters:
    ///   - id: the barrier's id.
    ///   - kind: a key of ``factories``.
    ///   - scopes: the scopes; nil for the kind's default (Behaviour B5).
    ///   - configuration: the barrier's configuration.
    ///   - stateOnError: the barrier's state if its code throws (`on_error`).
    public func configure(
        id: String, kind: String, scopes: [BarrierScope]?, configuration: DataObject,
        stateOnError: BarrierState = .open
    ) throws {
        guard let factory = factories[kind] else {
            throw BarrierConfigurationFault(key: "kind", message: "is not a kind of barrier")
        }
        if let entry = entries[id], entry.kind == kind, entry.barrier is any ConfigurableBarrier {
            return try update(id: id, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
        }
        let identity = BarrierIdentity(id: id, kind: kind)
        let barrier = try make(factory, identity, configuration, stateOnError)
        if let old = entries[id] { coordinator.unregister(old.barrier) }
        entries[id] = Entry(barrier: barrier, kind: kind, scopes: scopes, stateOnError: stateOnError)
        register(id, configuration)
    }

    /// Adds a kind of barrier, and one barrier of that kind with the kind's name as its id. Settings may configure it.
    public func add(_ factory: some BarrierFactory) throws {
        factories[factory.kind] = factory
        try configure(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
    }

    /// Gives a configured barrier new settings (Behaviour B7). If the barrier refuses the configuration, nothing
    /// changes; the error is reported and thrown.
    /// - Parameters:
    ///   - id: the barrier's id.
    ///   - scopes: the scopes; nil for the kind's default.
    ///   - configuration: the barrier's configuration.
    ///   - stateOnError: the barrier's state if its code throws; nil to keep the present value.
    public func update(
        id: String, scopes: [BarrierScope]?, configuration: DataObject, stateOnError: BarrierState? = nil
    ) throws {
        guard let entry = entries[id] else {
            throw BarrierConfigurationFault(key: "id", message: "is not the id of a barrier")
        }
        let stateOnError = stateOnError ?? entry.stateOnError
        guard let barrier = entry.barrier as? any ConfigurableBarrier else {
            return try configure(
                id: id, kind: entry.kind, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
        }
        do {
            try barrier.updateConfiguration(configuration)
        } catch {
            turn.host?.barrierFailed(BarrierFailure(barrier: BarrierIdentity(id: id, kind: entry.kind), error: error))
            throw error
        }
        entries[id]?.scopes = scopes
        entries[id]?.stateOnError = stateOnError
        register(id, configuration)
    }

    /// Resets a configured barrier that settings no longer contain: it gets an empty configuration and its default
    /// scopes (Behaviour B7). Does nothing if there is no such barrier. If the barrier refuses the empty configuration,
    /// it still gets its default scopes, and the error is reported and thrown.
    public func reset(id: String) throws {
        guard entries[id] != nil else { return }
        entries[id]?.scopes = nil
        register(id, nil)
        try update(id: id, scopes: nil, configuration: [:], stateOnError: .open)
    }

    /// Updates the scopes of the barriers whose settings have none.
    func refreshDefaultScopes() {
        for (id, entry) in entries where entry.scopes == nil { register(id, nil) }
    }

    /// Registers a barrier with its scopes.
    private func register(_ id: String, _ configuration: DataObject?) {
        guard let entry = entries[id] else { return }
        let identity = BarrierIdentity(id: id, kind: entry.kind, word: entry.barrier.word)
        let scopes = entry.scopes ?? factories[entry.kind]?.defaultScopes() ?? [.all]
        coordinator.register(entry.barrier, identity: identity, scopes: scopes, stateOnError: entry.stateOnError)
        if let configuration { coordinator.setConfiguration(configuration, of: entry.barrier) }
    }

    private func make(
        _ factory: some BarrierFactory, _ identity: BarrierIdentity, _ configuration: DataObject,
        _ stateOnError: BarrierState
    ) throws -> any Barrier {
        do {
            return try factory.create(context: context(), configuration: configuration)
        } catch let fault as BarrierConfigurationFault {
            throw fault
        } catch {
            turn.host?.barrierFailed(BarrierFailure(barrier: identity, error: error))
            return PlaceholderBarrier(state: stateOnError, cause: "\(error)")
        }
    }
}
