import HeadgateCore
import HeadgateData
import HeadgateTransport
import HeadgateWire

/// Puts settings in force: the first ones at the start, and others while the service runs. No event is lost or sent again
/// by a change (Behaviour S3).
extension Service {
    /// Makes what is to be made of new settings before anything is changed: a fault leaves everything as it was.
    func putInForce(_ new: Settings, insteadOf old: Settings) throws(StartFault) {
        try refuseTakenIds(new)
        let made = try newSenders(for: new, insteadOf: old)
        gate.setLimits(new.store)
        gate.flushOnReturn = new.flushOn.connected ? FlushMethods.usualTimeout : nil
        boards.gateways = new.gateways
        try putRulesInForce(new, insteadOf: old)
        putDispatchersInForce(new, insteadOf: old, senders: made)
        try putBarriersInForce(new, insteadOf: old)
        gate.noteOrphans()
    }

    // MARK: Dispatchers

    /// Senders for the dispatchers that are new, or whose way out has changed.
    private func newSenders(for new: Settings, insteadOf old: Settings) throws(StartFault) -> [String: any Sender] {
        var made: [String: any Sender] = [:]
        for dispatcher in new.dispatchers where old.dispatcher(dispatcher.id)?.kind != dispatcher.kind {
            do {
                made[dispatcher.id] = try senders.make(dispatcher, workforces)
            } catch {
                throw StartFault("dispatchers.\(dispatcher.id): \(error)")
            }
        }
        return made
    }

    private func putDispatchersInForce(
        _ new: Settings, insteadOf old: Settings, senders made: [String: any Sender]
    ) {
        workforces.follow(new.dispatchers)
        for dispatcher in old.dispatchers where new.dispatcher(dispatcher.id) == nil {
            gate.removeDispatcher(dispatcher.id)
        }
        for dispatcher in new.dispatchers where old.dispatcher(dispatcher.id) != dispatcher {
            let (common, kind) = (dispatcher.common, dispatcher.kind)
            if gate.hasDispatcher(dispatcher.id) {
                gate.changeDispatcher(
                    common, kind: kind.name, sender: made[dispatcher.id], reachesNetwork: kind.reachesNetwork)
            } else if let sender = made[dispatcher.id] {
                gate.addDispatcher(common, kind: kind.name, sender: sender, reachesNetwork: kind.reachesNetwork)
            }
        }
    }

    // MARK: Barriers

    /// An id that a client's barrier has now is not to be had for another.
    private func refuseTakenIds(_ new: Settings) throws(StartFault) {
        let taken = Set(gate.barrierSummaries.filter { $0.identity.kind == RemoteBarrier.kind }.map(\.identity.id))
        guard let barrier = new.barriers.first(where: { taken.contains($0.id) }) else { return }
        throw StartFault("barriers.\(barrier.id): a client has registered a barrier of this id")
    }

    /// A barrier that refuses its configuration keeps the old one, and is reported (Behaviour B7).
    private func putBarriersInForce(_ new: Settings, insteadOf old: Settings) throws(StartFault) {
        for barrier in old.barriers where !new.barriers.contains(where: { $0.id == barrier.id }) {
            // It reports itself; with its settings gone there is nobody else to tell.
            try? gate.resetBarrier(id: barrier.id)
        }
        for barrier in new.barriers where !old.barriers.contains(barrier) {
            do {
                try gate.addBarrier(
                    id: barrier.id, kind: barrier.kind, scopes: barrier.scopes, configuration: barrier.configuration,
                    stateOnError: barrier.stateOnError)
            } catch {
                guard isReady else { throw StartFault("barriers.\(barrier.id): \(error)") }
                log.warning("barriers.\(barrier.id): \(error)")
            }
        }
    }

    // MARK: Rules and transformations

    private func putRulesInForce(_ new: Settings, insteadOf old: Settings) throws(StartFault) {
        if new.loadRules != old.loadRules {
            gate.replaceLoadRules(named: Set(old.loadRules.keys), by: new.loadRules)
        }
        guard new.transformations != old.transformations else { return }
        for transformation in old.transformations { gate.removeTransformation(id: transformation.settings.id) }
        for transformation in new.transformations { try add(transformation) }
    }
}

extension Settings {
    fileprivate func dispatcher(_ id: String) -> ConfiguredDispatcher? {
        dispatchers.first { $0.id == id }
    }
}
