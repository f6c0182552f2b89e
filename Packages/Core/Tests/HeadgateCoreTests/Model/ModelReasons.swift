import HeadgateCore

/// Checks the reasons that events carry for having been held (Behaviour D13).
extension GateModel {
    /// Records, after all turns have ended, that each closed barrier held the pending events.
    func noteHeld() {
        noteMayBeHeld()
        for id in ids {
            guard let dispatcher = dispatchers[id] else { continue }
            let isFlushing = flushTarget(of: id) > 0
            var reasons = Set(doors.filter { !$0.lets(id, flushing: isFlushing) }.map(\.id))
            if dispatcher.isPaused, !isFlushing || !dispatcher.isPauseFlushable { reasons.insert("manual") }
            for number in dispatcher.waiting { dispatchers[id]?.held[number, default: []].formUnion(reasons) }
        }
    }

    /// Records, after a change, that each closed barrier may hold the pending events if the turn ends now.
    func noteMayBeHeld() {
        for id in ids {
            guard let dispatcher = dispatchers[id] else { continue }
            var reasons = Set(doors.filter { !$0.lets(id, flushing: false) }.map(\.id))
            if dispatcher.isPaused { reasons.insert("manual") }
            if dispatcher.waitsUntil.nanoseconds > 0 { reasons.insert("backoff") }
            // Events being stored may arrive before the turn ends.
            let coming = offered.filter { $0.value.targets.contains(id) }.keys
            for number in dispatcher.waiting.union(coming) {
                dispatchers[id]?.mayBeHeld[number, default: []].formUnion(reasons)
            }
        }
    }

    /// Checks that an event names every barrier that certainly held it, and none that cannot have held it.
    func checkReasons(_ batch: Batch, _ dispatcher: ModelDispatcher) {
        for event in batch.events {
            let number = event.sequenceNumber
            let said = reasons(in: String(decoding: batch.body[event.range], as: UTF8.self))
            var possible = dispatcher.mayBeHeld[number] ?? []
            // The model does not know how many events were pending at any time, so `batching` is always possible.
            if dispatcher.batchSize != nil { possible.insert("batching") }
            // A store that cannot be read also makes a dispatcher wait.
            if profile.hasFaults { possible.insert("backoff") }
            let certain = dispatcher.held[number] ?? []
            expect(certain.isSubset(of: said), "\(dispatcher.id): \(number) was held by \(certain), not \(said)")
            expect(said.isSubset(of: possible), "\(dispatcher.id): \(number) has reasons \(said), of \(possible)")
        }
    }

    private func reasons(in event: String) -> Set<String> {
        guard let member = event.firstRange(of: #""queue_reason":""#) else { return [] }
        return Set(event[member.upperBound...].prefix { $0 != "\"" }.split(separator: ",").map(String.init))
    }
}

extension ModelDispatcher {
    /// Unsettled events that are not in flight.
    fileprivate var waiting: Set<SequenceNumber> { unsettled.subtracting(inFlight) }
}
