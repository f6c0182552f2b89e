extension Headgate {
    /// Gives a dispatcher other settings. No event is lost or sent again by it (Behaviour S3).
    /// - Parameter sender: its new way out; nil: the present one stays.
    /// - Returns: false when there is no such dispatcher.
    @discardableResult
    public func changeDispatcher(
        _ settings: DispatcherSettings, kind: String, sender: (any Sender)?, reachesNetwork: Bool
    ) -> Bool {
        guard let dispatcher = dispatchers[settings.id] else { return false }
        dispatcher.change(to: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork)
        dispatchersChanged()
        return true
    }

    /// Removes a dispatcher: it takes no more batches, finishes what is on its way, and its queue is kept for a while
    /// (Behaviour Q3). Flushes do not wait for it.
    public func removeDispatcher(_ id: String) {
        guard let dispatcher = dispatchers.removeValue(forKey: id) else { return }
        dispatcher.leave()
        leaving[id] = dispatcher
        coordinator.unregister(dispatcher.manual)
        coordinator.unregister(dispatcher.backoff)
        dispatcher.removeActivationGate()
        coordinator.removeDispatcher(id)
        flushes.removeDispatcher(id)
        dispatchersChanged()
        known[id]?.settled = dispatcher.queue.settled
        noteOrphans()
        markDirty(id)
    }

    /// Lets a removed dispatcher go once nothing of it is on its way.
    func finishLeaving(_ id: String) {
        guard let dispatcher = leaving[id], dispatcher.batchesInFlight == 0 else { return }
        dispatcher.close()
        let settled = dispatcher.queue.settled
        known[id]?.settled = settled
        // The dispatcher is about to be gone, and can tell it no more.
        settlements.settled(dispatcher.number) { settled }
        leaving[id] = nil
    }

    /// Takes a removed dispatcher that has not left yet back.
    /// - Returns: false when there is none of this name.
    func returnLeaving(
        _ settings: DispatcherSettings, kind: String, sender: any Sender, reachesNetwork: Bool
    ) -> Bool {
        guard let dispatcher = leaving.removeValue(forKey: settings.id) else { return false }
        known[settings.id]?.settled = dispatcher.queue.settled
        _ = adopt(settings.id)
        dispatcher.change(to: settings, kind: kind, sender: sender, reachesNetwork: reachesNetwork)
        install(dispatcher)
        return true
    }

    /// Other limits are in force from now on (Behaviour Q4).
    public func setLimits(_ limits: StoreLimits) {
        events.limits = limits
        dispatcherIds.forEach(markDirty)
    }

    /// Takes rules away and names others, in one step.
    public func replaceLoadRules(named old: Set<String>, by new: [String: Rule]) {
        var changed = loadRules
        for id in old { changed[id] = nil }
        for (id, rule) in new { changed[id] = rule }
        loadRules = changed
    }

    /// Keeps something small under a name, over restarts; nil takes it away. `then` is called once it is written.
    public func keep(_ bytes: [UInt8]?, as name: String, then: @escaping (StoreFault?) -> Void) {
        kept[name] = bytes
        settlements.add(.keep(name, bytes))
        settlements.whenWritten(then)
    }

    /// What was kept under a name.
    public func keptBytes(as name: String) -> [UInt8]? {
        kept[name]
    }
}
