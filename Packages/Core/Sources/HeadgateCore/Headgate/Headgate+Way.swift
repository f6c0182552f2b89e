import HeadgateData

// What stands on an event's way: rules, transformations, barriers.

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
            id, kind: kind, scopes: scopes, configuration: configuration, stateOnError: stateOnError,
            in: barrierContext)
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
        try configured.update(
            id, scopes: scopes, configuration: configuration, stateOnError: stateOnError, in: barrierContext)
    }

    /// Tells a configured barrier that settings name it no more: it gets an empty configuration and its default scopes
    /// (Behaviour B7). An unknown one changes nothing. When it refuses to go without a configuration, that is reported,
    /// and thrown; it gets the default scopes all the same.
    public func resetBarrier(id: String) throws {
        try configured.reset(id, in: barrierContext)
    }

    /// What this gate's barriers may look at and use.
    public var barrierContext: BarrierContext {
        BarrierContext(
            scheduler: scheduler, queues: depths, network: network.wrappedValue,
            applicationStatus: clientStatuses.wrappedValue.map(\.overall).distinct(), timeZone: surroundings.timeZone,
            barrierRegistrar: self)
    }
}

extension Headgate: BarrierRegistrar {
    /// Puts a barrier made elsewhere before dispatchers, under a name of its own; the same instance again replaces its
    /// scopes (Behaviour B8). A configured barrier has its scopes from its settings, and stays as it is.
    public func registerScopedBarrier(_ barrier: any Barrier, id: String, scopes: [BarrierScope]) {
        guard !configured.contains(barrier) else { return }
        let identity = BarrierIdentity(id: id, kind: "\(type(of: barrier))", word: barrier.word)
        coordinator.register(barrier, identity: identity, scopes: scopes)
    }

    /// The same under the name of its type, with a number behind it where that is taken.
    public func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope]) {
        let id = coordinator.identity(of: barrier)?.id ?? unusedName("\(type(of: barrier))")
        registerScopedBarrier(barrier, id: id, scopes: scopes)
    }

    /// Takes such a barrier away; an unknown one, or a configured one, changes nothing (Behaviour B8).
    public func unregisterScopedBarrier(_ barrier: any Barrier) {
        guard !configured.contains(barrier) else { return }
        coordinator.unregister(barrier)
    }

    private func unusedName(_ name: String) -> String {
        guard coordinator.isTaken(name) else { return name }
        var number = 2
        while coordinator.isTaken("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}

// MARK: - Rules

extension Headgate {
    /// The load rules by their ids (Behaviour S5).
    public var loadRules: LoadRules { loadRouter.rules }

    /// Names a rule, so that dispatchers (`DispatcherSettings.loadRule`), transformations and other rules can refer to it.
    /// It is in force for the next event; what is stored keeps its way (Behaviour P3). Rules may be set in any order; until
    /// what it names is there, nothing goes by a rule.
    ///
    /// Throws when the rule would come back to itself, is too large, or has a regular expression that ``GateSurroundings/patternCompiler``
    /// refuses; then nothing has changed.
    public func setLoadRule(_ rule: Rule, forId id: String) throws(RuleFault) {
        try loadRouter.set(rule, id)
    }

    /// What keeps a rule from being asked; nil when nothing does. For a rule that a dispatcher bears itself
    /// (`DispatcherSettings.loadRule`): it gets nothing while there is a fault.
    public func fault(in rule: Rule) -> RuleFault? {
        loadRouter.fault(in: rule)
    }

    /// Takes a rule away. What refers to it does not hold any more.
    public func removeLoadRule(forId id: String) {
        loadRouter.replace(named: [id], by: [:])
    }

    /// Takes rules away and names others, in one step.
    public func replaceLoadRules(named old: Set<String>, by new: [String: Rule]) {
        loadRouter.replace(named: old, by: new)
    }

    // MARK: Transformations

    /// Names a transformer, so that transformations can be done by it.
    public func registerTransformer(_ transformer: any Transformer, id: String) {
        transformations.register(transformer, id: id)
    }

    /// Forgets a transformer. What it did is not done any more.
    public func unregisterTransformer(id: String) {
        transformations.unregister(id)
    }

    /// Adds a transformation, or replaces the one of its id (Behaviour P4). It is in force for what is stored or sent next;
    /// batches on their way go on as they are.
    ///
    /// Throws when its transformer is not registered, or when `when` has a fault; it may name rules that are set later.
    public func setTransformation(_ settings: TransformationSettings) throws(TransformationFault) {
        try transformations.set(settings)
    }

    /// Takes a transformation away; an unknown one changes nothing.
    public func removeTransformation(id: String) {
        transformations.remove(id)
    }

    // MARK: Before the store

    /// Whether events are transformed before they are stored.
    public var transformsAfterCollectors: Bool { transformations.areAfterCollectors }

    /// The limits to which transformed events are held.
    public var eventLimits: EventLimits {
        get { transformations.limits }
        set { transformations.limits = newValue }
    }

    /// Transforms an event before it is stored, and counts and reports what fails.
    /// - Parameter json: the event as it would be delivered, as far as that is known: `id`, `event`, `time`,
    ///   `received_at`, `key`, `context`, `data`.
    /// - Returns: nil if the bytes are no event.
    public func transformAfterCollectors(_ json: [UInt8]) -> TransformedEvent? {
        guard let document = EventDocument(json: json) else { return nil }
        let result = transformations.afterCollectors.transform(document, dispatcher: nil)
        transformations.report(result, counts)
        return result
    }
}
