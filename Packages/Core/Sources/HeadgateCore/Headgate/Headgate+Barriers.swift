import HeadgateData

extension Headgate {
    /// How barriers of each kind are made, by the kinds' names.
    public var factories: [String: any BarrierFactory] {
        get { configured.factories }
        set { configured.factories = newValue }
    }

    // MARK: Configured barriers

    /// Makes a configured barrier and puts it before the dispatchers in its scopes. One that is there under this id is
    /// configured anew, or replaced when it is of another kind.
    ///
    /// A factory that throws anything but a fault of the configuration is counted and reported, and the barrier's state
    /// is `stateOnError` until it is configured again (Behaviour B9).
    /// - Parameters:
    ///   - kind: one of ``factories``.
    ///   - scopes: nil: the kind's default (Behaviour B5).
    ///   - stateOnError: the barrier's state when its code throws (`on_error`).
    public func addBarrier(
        id: String, kind: String, scopes: [BarrierScope]?, configuration: DataObject,
        stateOnError: BarrierState = .open
    ) throws {
        try configured.configure(
            id, kind: kind, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
    }

    /// Adds a kind of barrier, and one barrier of it under the kind's name, which settings may configure.
    public func addBarrier(_ factory: some BarrierFactory) throws {
        factories[factory.kind] = factory
        try addBarrier(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
    }

    /// Hands a configured barrier new settings (Behaviour B7). When it refuses the configuration, everything stays as it
    /// was; that is reported, and thrown.
    /// - Parameters:
    ///   - scopes: nil: the kind's default.
    ///   - stateOnError: nil: as it was.
    public func updateBarrier(
        id: String, scopes: [BarrierScope]?, configuration: DataObject, stateOnError: BarrierState? = nil
    ) throws {
        try configured.update(id, scopes: scopes, configuration: configuration, stateOnError: stateOnError)
    }

    /// Tells a configured barrier that settings name it no more: it gets an empty configuration and its default scopes
    /// (Behaviour B7). An unknown one changes nothing. When it refuses to go without a configuration, that is reported,
    /// and thrown; it gets the default scopes all the same.
    public func resetBarrier(id: String) throws {
        try configured.reset(id)
    }

    // MARK: For the making of barriers

    func makeConfiguredBarriers() -> ConfiguredBarriers {
        // The gate owns what is made here and calls it; it is there whenever that asks.
        let barriers = ConfiguredBarriers(coordinator: coordinator) { [unowned self] in barrierContext }
        for factory in Barriers.builtIn { barriers.factories[factory.kind] = factory }
        barriers.factories[ConnectivityBarrier.id] = ConnectivityBarrier.Factory { [weak self] in
            self?.networkScopes ?? []
        }
        follow(barriers.failures.observable) { $0.barrierFailed($1) }
        return barriers
    }

    /// What this gate's barriers may look at and use.
    public var barrierContext: BarrierContext {
        BarrierContext(
            worker: worker, queues: depths, network: network.wrappedValue,
            applicationStatus: clientStatuses.wrappedValue.map(\.overall).distinct(), timeZone: timeZone,
            barrierRegistrar: self)
    }

    private var networkScopes: [BarrierScope] {
        dispatcherIds.filter { dispatchers[$0]?.reachesNetwork == true }.map { .dispatcher(id: $0) }
    }

    func addConnectivityBarrier() {
        let id = ConnectivityBarrier.id
        guard !coordinator.isTaken(id) else { return }
        // An empty configuration has nothing to refuse; a factory of the program's own may still throw.
        do {
            try addBarrier(id: id, kind: id, scopes: nil, configuration: [:])
        } catch {
            barrierFailed(BarrierFailure(barrier: BarrierIdentity(id: id, kind: id), error: error))
        }
    }

    func barrierFailed(_ failure: BarrierFailure) {
        board.counters.barrierErrors += 1
        barrierFailureSubject.send(failure)
    }
}

extension Headgate {
    /// The kind of the machine's network connection, where it is known (Behaviour D13).
    public var networkConnectionType: String? { network.value.kind?.rawValue }
}
