import HeadgateCore
import HeadgateData

/// The part that applies settings: the first ones at the start, and changes later. No event is lost or sent again by a
/// change (Behaviour S3).
///
/// A change is applied whole or not at all (Behaviour S2). ``prepare(_:insteadOf:)`` does all that may fail, before any
/// part changes. The steps after it cannot fail.
struct SettingsInstaller {
    let gate: Headgate
    let boards: Boards
    let workerGroups: WorkerGroups
    let senderContext: SenderContext
    let configuration: ServerConfiguration
    let log: Log

    /// The new parts that settings need.
    struct Preparation {
        /// The senders of dispatchers that are new, or whose kind or destination has changed.
        fileprivate var senders = NameTable<any Sender>()
        /// The transformers of transformations that are new, or whose work has changed.
        fileprivate var transformers = NameTable<any Transformer>()
    }

    /// Makes the new parts for settings, and changes nothing.
    func prepare(_ new: Settings, insteadOf old: Settings) throws(StartFault) -> Preparation {
        try refuseEncryption(new)
        try refuseRetention(new)
        try refuseEarlyStarts(new)
        try refuseTakenIds(new)
        try refuseTakeovers(new)
        var made = Preparation()
        do throws(StartFault) {
            try makeTransformers(new, insteadOf: old, into: &made)
            try makeSenders(new, insteadOf: old, into: &made)
        } catch {
            for (_, sender) in made.senders { sender.close() }
            throw error
        }
        return made
    }

    /// Refuses encryption for a store that does not support it (Behaviour C1).
    private func refuseEncryption(_ new: Settings) throws(StartFault) {
        let store = gate.events.store
        guard new.encryption != nil, !store.canEncrypt else { return }
        throw StartFault("the event store of kind \(store.kind) is not encrypted", at: "store.encryption")
    }

    /// Refuses retention for a store that does not support it (Behaviour R1).
    private func refuseRetention(_ new: Settings) throws(StartFault) {
        let store = gate.events.store
        guard new.store.retain != nil, !store.canRewind else { return }
        throw StartFault("the event store of kind \(store.kind) deletes delivered events", at: "store.retain")
    }

    /// Refuses dispatchers that start at an earlier event, if the store cannot rewind (Behaviour R4).
    private func refuseEarlyStarts(_ new: Settings) throws(StartFault) {
        let store = gate.events.store
        guard !store.canRewind, let early = new.dispatchers.first(where: { $0.common.start != .newest }) else { return }
        throw StartFault(
            "the event store of kind \(store.kind) cannot start a dispatcher at an earlier event",
            at: "dispatchers.\(early.id).start")
    }

    /// Applies settings with the parts that were prepared.
    /// - Returns: the faults of barriers that refused their configuration. Such a barrier keeps its old one (Behaviour
    ///   B7).
    func putInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) -> [StartFault] {
        gate.setLimits(new.store)
        gate.trace.remembered = new.tracedEvents
        gate.transformations.limits = new.limits.trackedEvents
        gate.flushesOnReturn = new.flushOn.connected
        boards.gateways = new.gateways
        putRulesInForce(new, insteadOf: old, made)
        putDispatchersInForce(new, insteadOf: old, made)
        let refusals = putBarriersInForce(new, insteadOf: old)
        gate.noteOrphans()
        return refusals
    }

    // MARK: The start

    /// Applies the first settings and adds the parts of the embedding program.
    func start(_ settings: Settings) throws(StartFault) {
        try addProgramsOwn()
        // A barrier that was kept across the restart is removed if the settings have one of the same ID.
        gate.remoteBarriers.yieldTurn(to: Set(settings.barriers.map(\.id)))
        let made = try prepare(settings, insteadOf: Settings())
        if let refusal = putInForce(settings, insteadOf: Settings(), made).first { throw refusal }
        try addUnnamedBarriers(settings)
    }

    /// Adds the program's kinds of barriers and its load rules, which settings may name.
    private func addProgramsOwn() throws(StartFault) {
        for factory in configuration.factories { gate.barriers.factories[factory.kind] = factory }
        for (id, rule) in configuration.vocabulary.loadRules.sorted(by: { $0.key < $1.key }) {
            do throws(RuleFault) {
                try gate.loadRules.set(rule, forId: id)
            } catch {
                throw StartFault("load rule \(id): \(error)")
            }
        }
    }

    /// Adds the program's barriers that the settings do not name, with an empty configuration and the factory's scopes.
    private func addUnnamedBarriers(_ settings: Settings) throws(StartFault) {
        for factory in configuration.factories
        where !settings.barriers.contains(where: { ExactName($0.id) == ExactName(factory.kind) }) {
            do {
                try gate.barriers.configure(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
            } catch {
                throw StartFault("barrier \(factory.kind): \(error)")
            }
        }
    }

    // MARK: Dispatchers

    private func makeSenders(
        _ new: Settings, insteadOf old: Settings, into made: inout Preparation
    ) throws(StartFault) {
        for dispatcher in new.dispatchers where old.dispatcher(dispatcher.id)?.kind != dispatcher.kind {
            do {
                let kind = configuration.vocabulary.dispatcherKinds.kind(named: dispatcher.kind.kind)
                made.senders[dispatcher.id] = try kind?.makeSender(of: dispatcher, in: senderContext)
            } catch {
                throw StartFault("\(error)", at: "dispatchers.\(dispatcher.id)")
            }
        }
    }

    private func putDispatchersInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) {
        workerGroups.follow(
            new.dispatchers.compactMap { dispatcher in
                (dispatcher.kind.settings as? WorkerSettings).map { (dispatcher.id, $0) }
            })
        for dispatcher in old.dispatchers where new.dispatcher(dispatcher.id) == nil {
            gate.removeDispatcher(dispatcher.id)
        }
        for dispatcher in new.dispatchers where old.dispatcher(dispatcher.id) != dispatcher {
            let (common, kind) = (dispatcher.common, dispatcher.kind)
            if gate.dispatchers.contains(dispatcher.id) {
                gate.changeDispatcher(
                    common, kind: kind.kind, sender: made.senders[dispatcher.id], reachesNetwork: kind.reachesNetwork)
            } else if let sender = made.senders[dispatcher.id] {
                gate.addDispatcher(common, kind: kind.kind, sender: sender, reachesNetwork: kind.reachesNetwork)
            }
        }
    }

    /// Refuses a takeover of a queue by a dispatcher that already has a queue (Behaviour Q3).
    private func refuseTakeovers(_ new: Settings) throws(StartFault) {
        for dispatcher in new.dispatchers {
            guard let former = dispatcher.common.formerly,
                let fault = gate.dispatchers.fault(takingOver: former, by: dispatcher.id)
            else { continue }
            throw StartFault("\(fault)", at: "dispatchers.\(dispatcher.id).formerly")
        }
    }

    // MARK: Barriers

    /// Refuses a barrier with the ID of a barrier that a client has registered.
    private func refuseTakenIds(_ new: Settings) throws(StartFault) {
        let taken = Set(gate.barrierSummaries.filter { $0.identity.kind == RemoteBarrier.kind }.map(\.identity.id))
        guard let barrier = new.barriers.first(where: { taken.contains($0.id) }) else { return }
        throw StartFault("a client has registered a barrier with this id", at: "barriers.\(barrier.id)")
    }

    /// Applies the barriers of the settings.
    /// - Returns: the faults of refused configurations.
    private func putBarriersInForce(_ new: Settings, insteadOf old: Settings) -> [StartFault] {
        for barrier in old.barriers where !new.barriers.contains(where: { ExactName($0.id) == ExactName(barrier.id) }) {
            // The barrier logs its own failure. Its settings are gone, so there is no other place for a report.
            try? gate.barriers.reset(id: barrier.id)
        }
        var refusals: [StartFault] = []
        for barrier in new.barriers where !old.barriers.contains(barrier) {
            do {
                try gate.barriers.configure(
                    id: barrier.id, kind: barrier.kind, scopes: barrier.scopes, configuration: barrier.configuration,
                    stateOnError: barrier.stateOnError)
            } catch {
                refusals.append(StartFault("\(error)", at: "barriers.\(barrier.id)"))
            }
        }
        return refusals
    }

    // MARK: Rules and transformations

    private func makeTransformers(
        _ new: Settings, insteadOf old: Settings, into made: inout Preparation
    ) throws(StartFault) {
        for transformation in new.transformations
        where old.transformation(transformation.id)?.work != transformation.work {
            do {
                made.transformers[transformation.id] = try makeTransformer(transformation)
            } catch {
                throw StartFault("\(error)", at: "transformations.\(transformation.id)")
            }
        }
    }

    /// Applies load rules and transformations. Rules of the settings override the program's rules of the same IDs.
    private func putRulesInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) {
        if new.loadRules != old.loadRules {
            let program = configuration.vocabulary.loadRules
            gate.loadRules.replace(named: old.loadRules.keys, by: program.merging(new.loadRules))
        }
        guard new.transformations != old.transformations else { return }
        for transformation in old.transformations {
            gate.transformations.remove(id: transformation.id)
            if new.transformation(transformation.id) == nil { gate.transformations.unregister(id: transformation.id) }
        }
        for transformation in new.transformations { install(transformation, made.transformers[transformation.id]) }
    }

    /// Adds or changes a transformation.
    /// - Parameter transformer: the new transformer, or nil to keep the present one.
    private func install(_ transformation: ConfiguredTransformation, _ transformer: (any Transformer)?) {
        if let transformer { gate.transformations.register(transformer, id: transformation.settings.transformerId) }
        do throws(TransformationFault) {
            try gate.transformations.set(transformation.settings)
        } catch {
            // This does not happen: the check of the settings included the rule, and the transformer is registered.
            log.write(
                .transformationFailed, ["transformation": .string(transformation.id), "cause": .string("\(error)")])
        }
    }

    /// Makes the transformer of a transformation (Behaviour P4, S6).
    private func makeTransformer(_ transformation: ConfiguredTransformation) throws -> any Transformer {
        switch transformation.work {
        case .edits(let edits):
            return EditingTransformer(edits, digest: SHA256.digits)
        case .own(let kind, let settings):
            guard let factory = configuration.transformerFactories.last(where: { $0.kind == kind }) else {
                preconditionFailure("settings of this kind are only read where there is a factory")
            }
            return try factory.makeTransformer(
                transformation: transformation.id, configuration: settings, on: senderContext.scheduler)
        }
    }
}

extension Settings {
    fileprivate func dispatcher(_ id: String) -> ConfiguredDispatcher? {
        dispatchers.first { ExactName($0.id) == ExactName(id) }
    }

    fileprivate func transformation(_ id: String) -> ConfiguredTransformation? {
        transformations.first { ExactName($0.id) == ExactName(id) }
    }
}
