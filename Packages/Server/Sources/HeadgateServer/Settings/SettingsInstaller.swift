import HeadgateCore
import HeadgateData

/// Puts settings in force: the first ones at the start, and others while the service runs. No event is lost or sent again
/// by a change (Behaviour S3).
///
/// A change is applied whole or not at all (Behaviour S2): all that may fail is done by ``prepare(_:insteadOf:)``, before
/// anything is touched; nothing that follows can fail.
struct SettingsInstaller {
    let gate: Headgate
    let boards: Boards
    let workforces: Workforces
    let surroundings: SenderSurroundings
    let configuration: ServerConfiguration
    let log: Log

    /// What other settings need and what does not exist yet.
    struct Preparation {
        /// Senders for the dispatchers that are new, or whose way out has changed.
        fileprivate var senders: [String: any Sender] = [:]
        /// Transformers for the transformations that are new, or do something else than before.
        fileprivate var transformers: [String: any Transformer] = [:]
    }

    /// Makes what is to be made for new settings, and changes nothing.
    func prepare(_ new: Settings, insteadOf old: Settings) throws(StartFault) -> Preparation {
        try refuseTakenIds(new)
        try refuseTakeovers(new)
        var made = Preparation()
        do throws(StartFault) {
            try makeTransformers(new, insteadOf: old, into: &made)
            try makeSenders(new, insteadOf: old, into: &made)
        } catch {
            for sender in made.senders.values { sender.close() }
            throw error
        }
        return made
    }

    /// Puts settings in force for which all is prepared.
    /// - Returns: barriers that refused their configuration. They keep the old one (Behaviour B7).
    func putInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) -> [StartFault] {
        gate.setLimits(new.store)
        gate.trace.remembered = new.tracedEvents
        gate.eventLimits = new.limits.ofEvents
        gate.flushesOnReturn = new.flushOn.connected
        boards.gateways = new.gateways
        putRulesInForce(new, insteadOf: old, made)
        putDispatchersInForce(new, insteadOf: old, made)
        let refusals = putBarriersInForce(new, insteadOf: old)
        gate.noteOrphans()
        return refusals
    }

    // MARK: The start

    /// Puts the first settings in force, and what the program around the service adds to them.
    func start(_ settings: Settings) throws(StartFault) {
        try addProgramsOwn()
        // Of the barriers that were kept over the restart, none stands in the way of the settings.
        gate.remoteBarriers.giveWay(to: Set(settings.barriers.map(\.id)))
        let made = try prepare(settings, insteadOf: Settings())
        if let refusal = putInForce(settings, insteadOf: Settings(), made).first { throw refusal }
        try addUnnamedBarriers(settings)
    }

    /// Takes up the program's kinds of barriers and its load rules, for settings to refer to.
    private func addProgramsOwn() throws(StartFault) {
        for factory in configuration.factories { gate.factories[factory.kind] = factory }
        for (id, rule) in configuration.vocabulary.loadRules.sorted(by: { $0.key < $1.key }) {
            do throws(RuleFault) {
                try gate.setLoadRule(rule, forId: id)
            } catch {
                throw StartFault("load rule \(id): \(error)")
            }
        }
    }

    /// Adds the program's barriers that settings do not name: with an empty configuration, and the factory's scopes.
    private func addUnnamedBarriers(_ settings: Settings) throws(StartFault) {
        for factory in configuration.factories where !settings.barriers.contains(where: { $0.id == factory.kind }) {
            do {
                try gate.addBarrier(id: factory.kind, kind: factory.kind, scopes: nil, configuration: [:])
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
                made.senders[dispatcher.id] = try kind?.makeSender(of: dispatcher, in: surroundings)
            } catch {
                throw StartFault("dispatchers.\(dispatcher.id): \(error)")
            }
        }
    }

    private func putDispatchersInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) {
        workforces.follow(new.dispatchers)
        for dispatcher in old.dispatchers where new.dispatcher(dispatcher.id) == nil {
            gate.removeDispatcher(dispatcher.id)
        }
        for dispatcher in new.dispatchers where old.dispatcher(dispatcher.id) != dispatcher {
            let (common, kind) = (dispatcher.common, dispatcher.kind)
            if gate.hasDispatcher(dispatcher.id) {
                gate.changeDispatcher(
                    common, kind: kind.kind, sender: made.senders[dispatcher.id], reachesNetwork: kind.reachesNetwork)
            } else if let sender = made.senders[dispatcher.id] {
                gate.addDispatcher(common, kind: kind.kind, sender: sender, reachesNetwork: kind.reachesNetwork)
            }
        }
    }

    /// A queue is taken over only by a dispatcher that has none (Behaviour Q3).
    private func refuseTakeovers(_ new: Settings) throws(StartFault) {
        for dispatcher in new.dispatchers {
            guard let former = dispatcher.common.formerly,
                let fault = gate.fault(takingOver: former, by: dispatcher.id)
            else { continue }
            throw StartFault("dispatchers.\(dispatcher.id).formerly: \(fault)")
        }
    }

    // MARK: Barriers

    /// An id that a client's barrier has now is not to be had for another.
    private func refuseTakenIds(_ new: Settings) throws(StartFault) {
        let taken = Set(gate.barrierSummaries.filter { $0.identity.kind == RemoteBarrier.kind }.map(\.identity.id))
        guard let barrier = new.barriers.first(where: { taken.contains($0.id) }) else { return }
        throw StartFault("barriers.\(barrier.id): a client has registered a barrier of this id")
    }

    /// - Returns: what was refused.
    private func putBarriersInForce(_ new: Settings, insteadOf old: Settings) -> [StartFault] {
        for barrier in old.barriers where !new.barriers.contains(where: { $0.id == barrier.id }) {
            // It reports itself; with its settings gone there is nobody else to tell.
            try? gate.resetBarrier(id: barrier.id)
        }
        var refusals: [StartFault] = []
        for barrier in new.barriers where !old.barriers.contains(barrier) {
            do {
                try gate.addBarrier(
                    id: barrier.id, kind: barrier.kind, scopes: barrier.scopes, configuration: barrier.configuration,
                    stateOnError: barrier.stateOnError)
            } catch {
                refusals.append(StartFault("barriers.\(barrier.id): \(error)"))
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
                throw StartFault("transformations.\(transformation.id): \(error)")
            }
        }
    }

    /// The rules of the settings stand before those that the program has under the same ids.
    private func putRulesInForce(_ new: Settings, insteadOf old: Settings, _ made: Preparation) {
        if new.loadRules != old.loadRules {
            let program = configuration.vocabulary.loadRules
            gate.replaceLoadRules(
                named: Set(old.loadRules.keys), by: program.merging(new.loadRules) { $1 })
        }
        guard new.transformations != old.transformations else { return }
        for transformation in old.transformations {
            gate.removeTransformation(id: transformation.id)
            if new.transformation(transformation.id) == nil { gate.unregisterTransformer(id: transformation.id) }
        }
        for transformation in new.transformations { place(transformation, made.transformers[transformation.id]) }
    }

    /// - Parameter transformer: nil: the one that it has stays.
    private func place(_ transformation: ConfiguredTransformation, _ transformer: (any Transformer)?) {
        if let transformer { gate.registerTransformer(transformer, id: transformation.settings.transformerId) }
        do throws(TransformationFault) {
            try gate.setTransformation(transformation.settings)
        } catch {
            // Its rule was looked through with the settings, and its transformer is there.
            log.tell(
                .transformationFailed, ["transformation": .string(transformation.id), "cause": .string("\(error)")])
        }
    }

    /// Makes who does what a transformation of the settings says (Behaviour P4, S6).
    private func makeTransformer(_ transformation: ConfiguredTransformation) throws -> any Transformer {
        switch transformation.work {
        case .edits(let edits):
            return EditingTransformer(edits, digest: SHA256.digits)
        case .own(let kind, let settings):
            guard let factory = configuration.transformerFactories.last(where: { $0.kind == kind }) else {
                preconditionFailure("settings of this kind are only read where there is a factory")
            }
            return try factory.makeTransformer(
                transformation: transformation.id, configuration: settings, on: surroundings.scheduler)
        }
    }
}

extension Settings {
    fileprivate func dispatcher(_ id: String) -> ConfiguredDispatcher? {
        dispatchers.first { $0.id == id }
    }

    fileprivate func transformation(_ id: String) -> ConfiguredTransformation? {
        transformations.first { $0.id == id }
    }
}
