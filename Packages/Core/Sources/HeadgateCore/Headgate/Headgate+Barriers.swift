import HeadgateData

extension Headgate {
    /// Makes a configured barrier and puts it before the dispatchers in its scopes.
    /// - Parameters:
    ///   - kind: one of ``factories``.
    ///   - scopes: nil: the kind's default (Behaviour B5).
    public func addBarrier(
        id: String, kind: String, scopes: [BarrierScope]?, configuration: DataObject
    ) throws {
        guard let factory = factories[kind] else {
            throw BarrierConfigurationFault(key: "kind", message: "unknown kind of barrier \(kind)")
        }
        let context = BarrierContext(worker: worker, queues: depths)
        let barrier = try make(factory, context, configuration)
        let identity = BarrierIdentity(id: id, kind: kind, word: Headgate.words[kind])
        coordinator.register(barrier, identity: identity, scopes: scopes ?? factory.defaultScopes())
        coordinator.setConfiguration(configuration, of: barrier)
        dispatcherIds.forEach(markDirty)
    }

    /// Reason words of the built-in kinds (Behaviour B10); any other barrier's is its id.
    private static let words = [BatchingBarrier.id: BatchingBarrier.word]

    private func make<Factory: BarrierFactory>(
        _ factory: Factory, _ context: BarrierContext, _ configuration: DataObject
    ) throws -> any Barrier {
        try factory.create(context: context, configuration: configuration)
    }

    /// Puts a barrier made elsewhere before dispatchers; the same instance again replaces its scopes (Behaviour B8).
    public func registerScopedBarrier(_ barrier: any Barrier, id: String, scopes: [BarrierScope]) {
        coordinator.register(barrier, identity: BarrierIdentity(id: id, kind: "\(type(of: barrier))"), scopes: scopes)
        dispatcherIds.forEach(markDirty)
    }

    /// Takes such a barrier away; an unknown one changes nothing (Behaviour B8).
    public func unregisterScopedBarrier(_ barrier: any Barrier) {
        coordinator.unregister(barrier)
    }
}
