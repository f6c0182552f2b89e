import HeadgateData

// The rules, transformations and barriers between an event's receipt and its delivery.

extension Headgate {
    /// The factories of barriers, by kind.
    public var factories: [String: any BarrierFactory] {
        get { configured.factories }
        set { configured.factories = newValue }
    }

    // MARK: Configured barriers

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
    public func addBarrier(
        id: String, kind: String, scopes: [BarrierScope]?, configuration: DataObject,
        stateOnError: BarrierState = .open
    ) throws {
        try configured.configure(
            id, kind: kind, scopes: scopes, configuration: configuration, stateOnError: stateOnError,
            in: barrierContext)
    }

    /// Adds a kind of barrier, and one barrier of that kind with the kind's name as its id. Settings may configure it.
    public func addBarrier(_ factory: some BarrierFactory) throws {
        factories[factory.kind] = factory
        try addBarrier(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
    }

    /// Gives a configured barrier new settings (Behaviour B7). If the barrier refuses the configuration, nothing
    /// changes; the error is reported and thrown.
    /// - Parameters:
    ///   - id: the barrier's id.
    ///   - scopes: the scopes; nil for the kind's default.
    ///   - configuration: the barrier's configuration.
    ///   - stateOnError: the barrier's state if its code throws; nil to keep the present value.
    public func updateBarrier(
        id: String, scopes: [BarrierScope]?, configuration: DataObject, stateOnError: BarrierState? = nil
    ) throws {
        try configured.update(
            id, scopes: scopes, configuration: configuration, stateOnError: stateOnError, in: barrierContext)
    }

    /// Resets a configured barrier that settings no longer contain: it gets an empty configuration and its default
    /// scopes (Behaviour B7). Does nothing if there is no such barrier. If the barrier refuses the empty configuration,
    /// it still gets its default scopes, and the error is reported and thrown.
    public func resetBarrier(id: String) throws {
        try configured.reset(id, in: barrierContext)
    }

    /// The services that this gate's barriers may use.
    public var barrierContext: BarrierContext {
        BarrierContext(
            scheduler: scheduler, queues: depths, network: network.wrappedValue,
            applicationStatus: clientStatuses.wrappedValue.map(\.overall).distinct(), timeZone: environment.timeZone,
            barrierRegistrar: self)
    }
}

extension Headgate: BarrierRegistrar {
    /// Registers a barrier that the program created, under an id. Registering the same instance again replaces its
    /// scopes (Behaviour B8). A configured barrier keeps the scopes from its settings.
    public func registerScopedBarrier(_ barrier: any Barrier, id: String, scopes: [BarrierScope]) {
        guard !configured.contains(barrier) else { return }
        let identity = BarrierIdentity(id: id, kind: "\(type(of: barrier))", word: barrier.word)
        coordinator.register(barrier, identity: identity, scopes: scopes)
    }

    /// Registers a barrier under the name of its type, with a number appended if the name is taken.
    public func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope]) {
        let id = coordinator.identity(of: barrier)?.id ?? unusedName("\(type(of: barrier))")
        registerScopedBarrier(barrier, id: id, scopes: scopes)
    }

    /// Unregisters a barrier. Does nothing for an unknown or a configured barrier (Behaviour B8).
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

    /// Sets a rule under an id, so that dispatchers (`DispatcherSettings.loadRule`), transformations and other rules
    /// can refer to it. The rule applies from the next event on; stored events keep their routes (Behaviour P3). Rules
    /// may be set in any order. A rule that refers to a missing rule does not match.
    /// - Throws: ``RuleFault`` if the rule refers to itself, is too large, or has a regular expression that
    ///   ``GateEnvironment/patternCompiler`` refuses. Nothing changes in that case.
    public func setLoadRule(_ rule: Rule, forId id: String) throws(RuleFault) {
        try loadRouter.set(rule, id)
    }

    /// Returns the fault that prevents a rule from being evaluated, or nil if there is none. A dispatcher whose own
    /// rule (`DispatcherSettings.loadRule`) has a fault gets no events.
    public func fault(in rule: Rule) -> RuleFault? {
        loadRouter.fault(in: rule)
    }

    /// Removes a rule. References to it no longer match.
    public func removeLoadRule(forId id: String) {
        loadRouter.replace(named: [id], by: [:])
    }

    /// Removes rules and sets others in one step.
    public func replaceLoadRules(named old: some Sequence<String>, by new: NameTable<Rule>) {
        loadRouter.replace(named: old, by: new)
    }

    // MARK: Transformations

    /// Registers a transformer, so that transformations can use it.
    public func registerTransformer(_ transformer: any Transformer, id: String) {
        transformations.register(transformer, id: id)
    }

    /// Unregisters a transformer. Transformations that use it have no effect any more.
    public func unregisterTransformer(id: String) {
        transformations.unregister(id)
    }

    /// Adds a transformation, or replaces the one with its id (Behaviour P4). It applies to events that are stored or
    /// sent from now on. Batches in flight are not changed.
    /// - Throws: ``TransformationFault`` if its transformer is not registered, or if `when` has a fault. `when` may
    ///   refer to rules that are set later.
    public func setTransformation(_ settings: TransformationSettings) throws(TransformationFault) {
        try transformations.set(settings)
    }

    /// Removes a transformation. Does nothing if there is none with this id.
    public func removeTransformation(id: String) {
        transformations.remove(id)
    }

    // MARK: Before the store

    /// True if events are transformed before they are stored.
    public var transformsAfterCollectors: Bool { transformations.areAfterCollectors }

    /// The limits that transformed events must satisfy.
    public var eventLimits: EventLimits {
        get { transformations.limits }
        set { transformations.limits = newValue }
    }

    /// Transforms an event before it is stored. Failures are counted and reported.
    /// - Parameter json: the event in the form of its delivery, with the members that are known: `id`, `event`, `time`,
    ///   `received_at`, `key`, `context`, `data`.
    /// - Returns: the transformed event, or nil if the bytes are not an event.
    public func transformAfterCollectors(_ json: [UInt8]) -> TransformedEvent? {
        guard let document = EventDocument(json: json) else { return nil }
        let result = transformations.afterCollectors.transform(document, dispatcher: nil)
        transformations.report(result, counts)
        return result
    }
}
