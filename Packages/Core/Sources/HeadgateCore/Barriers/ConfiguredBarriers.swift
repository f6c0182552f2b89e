import HeadgateData

/// The barriers that settings configure, or a program adds by their factories, under their ids (Behaviour B5, B7).
final class ConfiguredBarriers {
    /// How barriers of each kind are made.
    var factories: [String: any BarrierFactory] = [:]
    /// What barriers are made with.
    private let context: () -> BarrierContext
    /// Tells of each barrier whose code threw, or that refused its configuration.
    let failures = PulseSubject<BarrierFailure>()

    private let coordinator: BarrierCoordinator
    private var entries: [String: Entry] = [:]

    private struct Entry {
        var barrier: any Barrier
        var kind: String
        /// Nil: the factory's default.
        var scopes: [BarrierScope]?
        var stateOnError: BarrierState
    }

    init(coordinator: BarrierCoordinator, context: @escaping () -> BarrierContext) {
        self.coordinator = coordinator
        self.context = context
    }

    /// Whether an instance is one of these.
    func contains(_ barrier: any Barrier) -> Bool {
        entries.values.contains { $0.barrier === barrier }
    }

    /// Makes a barrier, or configures the one of this id anew. One that is of another kind is replaced.
    func configure(
        _ id: String, kind: String, scopes: [BarrierScope]?, configuration: DataObject, stateOnError: BarrierState
    ) throws {
        guard let factory = factories[kind] else {
            throw BarrierConfigurationFault(key: "kind", message: "is no kind of barrier")
        }
        if let entry = entries[id], entry.kind == kind, entry.barrier is any ConfigurableBarrier {
            return try update(id, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
        }
        let identity = BarrierIdentity(id: id, kind: kind)
        let barrier = try make(factory, identity, configuration, stateOnError)
        if let old = entries[id] { coordinator.unregister(old.barrier) }
        entries[id] = Entry(barrier: barrier, kind: kind, scopes: scopes, stateOnError: stateOnError)
        place(id, configuration)
    }

    /// Configures a barrier anew. A configuration that it refuses leaves everything as it was.
    func update(
        _ id: String, scopes: [BarrierScope]?, configuration: DataObject, stateOnError: BarrierState? = nil
    ) throws {
        guard let entry = entries[id] else { throw BarrierConfigurationFault(key: "id", message: "is no barrier's") }
        let stateOnError = stateOnError ?? entry.stateOnError
        guard let barrier = entry.barrier as? any ConfigurableBarrier else {
            return try configure(
                id, kind: entry.kind, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
        }
        do {
            try barrier.updateConfiguration(configuration)
        } catch {
            failures.send(BarrierFailure(barrier: BarrierIdentity(id: id, kind: entry.kind), error: error))
            throw error
        }
        entries[id]?.scopes = scopes
        entries[id]?.stateOnError = stateOnError
        place(id, configuration)
    }

    /// A barrier's settings are gone: it gets an empty configuration and its default scopes. If it refuses the one, it
    /// still gets the others.
    func reset(_ id: String) throws {
        guard entries[id] != nil else { return }
        entries[id]?.scopes = nil
        place(id, nil)
        try update(id, scopes: nil, configuration: [:], stateOnError: .open)
    }

    /// Asks the factories of those barriers for their scopes again whose settings name none.
    func refreshDefaultScopes() {
        for (id, entry) in entries where entry.scopes == nil { place(id, nil) }
    }

    /// Puts a barrier where its scopes say.
    private func place(_ id: String, _ configuration: DataObject?) {
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
            failures.send(BarrierFailure(barrier: identity, error: error))
            return StandInBarrier(state: stateOnError, cause: "\(error)")
        }
    }
}
