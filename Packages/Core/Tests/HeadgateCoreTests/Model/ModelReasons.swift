import HeadgateCore

/// What held events, and what they say of that (Behaviour D13).
extension GateModel {
    /// All turns have ended: whatever is closed has been seen to hold what waits.
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

    /// Something has changed: what is closed may hold what waits, should the turn end now.
    func noteMayBeHeld() {
        for id in ids {
            guard let dispatcher = dispatchers[id] else { continue }
            var reasons = Set(doors.filter { !$0.lets(id, flushing: false) }.map(\.id))
            if dispatcher.isPaused { reasons.insert("manual") }
            if dispatcher.waitsUntil.nanoseconds > 0 { reasons.insert("backoff") }
            // What is on its way into the store may be there when the turn ends.
            let coming = offered.filter { $0.value.targets.contains(id) }.keys
            for number in dispatcher.waiting.union(coming) {
                dispatchers[id]?.mayBeHeld[number, default: []].formUnion(reasons)
            }
        }
    }

    /// An event says all for which it was held for certain, and nothing for which it cannot have been.
    func checkReasons(_ batch: Batch, _ dispatcher: ModelDispatcher) {
        for event in batch.events {
            let number = event.sequenceNumber
            let said = reasons(in: String(decoding: batch.body[event.range], as: UTF8.self))
            var possible = dispatcher.mayBeHeld[number] ?? []
            // Who waits for company is held by that: how much there was when is not known here.
            if dispatcher.batchSize != nil { possible.insert("batching") }
            // A store that cannot be read makes a dispatcher wait as well.
            if profile.hasFaults { possible.insert("backoff") }
            let certain = dispatcher.held[number] ?? []
            expect(certain.isSubset(of: said), "\(dispatcher.id): \(number) was held by \(certain), and says \(said)")
            expect(said.isSubset(of: possible), "\(dispatcher.id): \(number) says \(said), of \(possible)")
        }
    }

    private func reasons(in event: String) -> Set<String> {
        guard let member = event.firstRange(of: #""queue_reason":""#) else { return [] }
        return Set(event[member.upperBound...].prefix { $0 != "\"" }.split(separator: ",").map(String.init))
    }
}

extension ModelDispatcher {
    /// What is not on its way.
    fileprivate var waiting: Set<SequenceNumber> { unsettled.subtracting(inFlight) }
}
