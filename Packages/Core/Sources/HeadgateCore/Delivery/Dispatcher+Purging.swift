/// A purge of what waits for a dispatcher, from the moment that somebody asked for it.
struct QueuePurge {
    /// The newest event that goes.
    let through: SequenceNumber
    /// What was on its way at that moment. It stays, also when it comes back.
    let spared: SequenceSet
    /// Events that are gone.
    var count = 0
    /// Is told how many there were, in the end.
    let then: (Int) -> Void
}

/// How a dispatcher's queue is emptied: it is read on, and what comes in hand goes. So a purge takes no more memory or time
/// of a turn than sending does, whatever waits, and each event is counted and settled as always (Behaviour P1).
extension Dispatcher {
    /// Drops what waits, up to and including an event, but not what is on its way. Counted as evicted.
    /// - Parameter then: is told how many events there were, once all are settled.
    func purge(through: SequenceNumber, then: @escaping (Int) -> Void) {
        purges.append(QueuePurge(through: through, spared: queue.inFlight, then: then))
        surroundings.markDirty(id)
    }

    /// Lets go of what is in hand and too old, or purged.
    /// - Returns: whether there was any.
    func dropInHand() -> Bool {
        let hasExpired = expireInHand()
        return purgeInHand() || hasExpired
    }

    /// How many events have to wait in hand for a look at what is next: with a purge under way, some behind those that stay.
    var handful: Int { purges.isEmpty ? 1 : queue.count + 256 }

    private func purgeInHand() -> Bool {
        var hasPurged = false
        for index in purges.indices {
            let sequenceNumbers = purgeable(by: purges[index])
            guard !sequenceNumbers.isEmpty else { continue }
            purges[index].count += sequenceNumbers.count
            settle(sequenceNumbers, as: .evicted)
            hasPurged = true
        }
        return hasPurged
    }

    private func purgeable(by purge: QueuePurge) -> SequenceSet {
        SequenceSet(queue.waiting(through: purge.through).lazy.filter { !purge.spared.contains($0) })
    }

    /// Ends the purges that have nothing left to read.
    func endPurges() {
        guard !purges.isEmpty else { return }
        let over = purges.filter(isOver)
        purges.removeAll(where: isOver)
        for purge in over { purge.then(purge.count) }
    }

    private func isOver(_ purge: QueuePurge) -> Bool {
        (unread == 0 || queue.readPosition >= purge.through) && purgeable(by: purge).isEmpty
    }

    /// Ends all purges where they are: the dispatcher is being removed.
    func abandonPurges() {
        let abandoned = purges
        purges = []
        for purge in abandoned { purge.then(purge.count) }
    }
}
