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
