import HeadgateData

// The barriers that the program registers itself.

extension Headgate {
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
        guard !barriers.contains(barrier) else { return }
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
        guard !barriers.contains(barrier) else { return }
        coordinator.unregister(barrier)
    }

    private func unusedName(_ name: String) -> String {
        guard coordinator.isTaken(name) else { return name }
        var number = 2
        while coordinator.isTaken("\(name)-\(number)") { number += 1 }
        return "\(name)-\(number)"
    }
}
