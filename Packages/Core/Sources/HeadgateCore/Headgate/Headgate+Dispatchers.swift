extension Headgate {
    /// Adds a dispatcher. One that the store knows goes on where it was; a new one starts at the newest event
    /// (Behaviour Q3).
    /// - Parameter reachesNetwork: whether its destination is on the other side of a network: neither this machine's
    ///   loopback, nor a file or socket of its own (Behaviour B20).
    public func addDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool = false
    ) {
        if returnLeaving(settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork) { return }
        let stored = adopt(settings.id)
        let dispatcher = Dispatcher(
            settings: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork,
            manual: ManualBarrier(keptPause(of: settings.id)),
            queue: DispatcherQueue(number: stored.number, settled: stored.settled), surroundings: surroundings)
        install(dispatcher)
    }

    /// Puts a dispatcher behind its barriers, from where it takes what is for it.
    func install(_ dispatcher: Dispatcher) {
        dispatchers[dispatcher.id] = dispatcher
        coordinator.addDispatcher(dispatcher.id)
        registerOwnBarriers(of: dispatcher)
        dispatchersChanged()
        markDirty(dispatcher.id)
    }

    /// Makes anew what depends on which dispatchers there are, and how they are set.
    func dispatchersChanged() {
        configured.refreshDefaultScopes()
        prepareLoadRules()
        routeToAll = events.routes.number(of: dispatchers.values.map(\.number))
    }

    /// Notes which known dispatchers are not configured any more; their queues are kept for a while (Behaviour Q3).
    public func noteOrphans() {
        for var dispatcher in known.values where dispatchers[dispatcher.id] == nil && dispatcher.orphanedSince == nil {
            dispatcher.orphanedSince = events.presentStamp()
            remember(dispatcher)
        }
        forgetOrphans()
    }

    func adopt(_ id: String) -> StoredDispatcher {
        let next = (known.values.map(\.number).max() ?? 0) + 1
        var stored = known[id] ?? StoredDispatcher(number: next, id: id, settled: Settled(through: events.lastStored))
        guard known[id] == nil || stored.orphanedSince != nil else { return stored }
        stored.orphanedSince = nil
        remember(stored)
        return stored
    }

    func remember(_ dispatcher: StoredDispatcher) {
        known[dispatcher.id] = dispatcher
        settlements.add(.dispatcher(dispatcher))
    }

    private func registerOwnBarriers(of dispatcher: Dispatcher) {
        let own: [(any Barrier, String, String)] = [
            (dispatcher.manual, ManualBarrier.kind, ManualBarrier.word),
            (dispatcher.backoff, BackoffBarrier.kind, BackoffBarrier.word),
        ]
        for (barrier, kind, word) in own {
            let identity = BarrierIdentity(id: "\(kind):\(dispatcher.id)", kind: kind, word: word)
            coordinator.register(barrier, identity: identity, scopes: [.dispatcher(id: dispatcher.id)])
        }
        dispatcher.placeActivationGate()
    }

    // MARK: Routes

    /// The dispatchers' ids, in alphabetical order.
    public var dispatcherIds: [String] { dispatchers.keys.sorted() }

    public func hasDispatcher(_ id: String) -> Bool { dispatchers[id] != nil }

    /// The route of an event for all dispatchers, or for some only; nil when one of these is unknown.
    public func route(narrowedTo ids: [String]? = nil) throws(TooManyRoutes) -> RouteNumber? {
        guard let ids else { return routeToAll }
        let numbers = ids.map { dispatchers[$0]?.queue.number }
        guard !numbers.contains(nil) else { return nil }
        return try routeNumber(of: Set(numbers.compactMap { $0 }))
    }

    /// The number of a set that an event asks for. Where there are too many, some may be forgotten by the next turn.
    func routeNumber(of dispatchers: some Sequence<DispatcherNumber>) throws(TooManyRoutes) -> RouteNumber {
        do throws(TooManyRoutes) {
            return try events.routes.number(asked: dispatchers)
        } catch {
            settlements.lookSoon()
            throw error
        }
    }

    /// A dispatcher's destination can take more than before (``Sender/capacity``): it looks again.
    public func destinationHasRoom(_ id: String) {
        markDirty(id)
    }

    /// What of a batch may go out once more, when its sender is about to give it to another who can take it: what has
    /// become too old meanwhile is let go of, and is no part of the batch any more (Behaviour Q4).
    /// - Returns: nil when nothing is left. Such a batch ends with `.each([])`.
    public func recheck(_ batch: Batch, of dispatcherId: String) -> Batch? {
        let dispatcher = dispatchers[dispatcherId] ?? leaving[dispatcherId]
        guard let rest = dispatcher?.recheck(batch.number), !rest.events.isEmpty else { return nil }
        return rest
    }

    // MARK: Pausing

    /// Closes a dispatcher's ManualBarrier (Behaviour B23); `then` is called once that survives a restart.
    /// - Returns: false when there is no such dispatcher.
    public func pause(
        _ id: String, reason: String?, isFlushable: Bool, then: @escaping (StoreFault?) -> Void
    ) -> Bool {
        setPause(of: id, ManualBarrier.Setting(isPaused: true, isFlushable: isFlushable, reason: reason), then)
    }

    /// Opens a dispatcher's ManualBarrier.
    /// - Returns: false when there is no such dispatcher.
    public func resume(_ id: String, then: @escaping (StoreFault?) -> Void) -> Bool {
        setPause(of: id, ManualBarrier.Setting(), then)
    }

    private func setPause(
        of id: String, _ setting: ManualBarrier.Setting, _ then: @escaping (StoreFault?) -> Void
    ) -> Bool {
        guard let dispatcher = dispatchers[id] else { return false }
        dispatcher.setPause(setting)
        barriersChanged()
        let name = Headgate.pauseName(id)
        kept[name] = setting.isPaused ? setting.kept : nil
        keep(kept[name], as: name, then: then)
        return true
    }

    private func keptPause(of id: String) -> ManualBarrier.Setting {
        guard let bytes = kept[Headgate.pauseName(id)] else { return ManualBarrier.Setting() }
        return ManualBarrier.Setting(kept: bytes)
    }

    private static func pauseName(_ id: String) -> String { "pause:\(id)" }
}
