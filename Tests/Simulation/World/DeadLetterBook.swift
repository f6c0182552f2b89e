import HeadgateCore

/// The event of a dead letter.
struct DeadLetterKey: Hashable {
    let queue: String
    let number: SequenceNumber
}

/// The model of the dead letters (Behaviour D10): stored and requeued ones.
final class DeadLetterBook {
    /// Dead letters that the store has confirmed.
    private(set) var written: Set<DeadLetterKey> = []
    /// Dead letters whose write was requested and is not confirmed.
    private(set) var requested: Set<DeadLetterKey> = []
    /// The number of dead letters requeued in this life.
    private(set) var requeued = 0
    /// The number of dead letters purged by an operator.
    private(set) var purged = 0
    /// Dead letters that were purged or requeued. A power failure may undo that.
    private var gone: Set<DeadLetterKey> = []
    /// Dead letters of dispatchers being dropped.
    private var forgetting: Set<DeadLetterKey> = []
    /// Dead letters of dispatchers dropped in this life.
    private(set) var forgotten: Set<DeadLetterKey> = []
    private var known: [DeadLetterNumber: StoredDeadLetter] = [:]
    /// Dead letters requeued in this life.
    private var returned: Set<DeadLetterKey> = []
    /// Events being requeued, by their new numbers.
    private var returning: [SequenceNumber: DeadLetterKey] = [:]
    /// The first number of each requeued event.
    private var firsts: [SequenceNumber: SequenceNumber] = [:]
    /// The purge in progress, which may be done in part.
    private var purging: DeadLetterQuery?
    /// Dead letters whose purge failed. After a crash they may be gone all the same.
    private var mayBePurged: Set<DeadLetterKey> = []
    /// True if dead letters may be damaged.
    var mayCorrupt = false
    private let record: Record
    let queue: (DispatcherNumber) -> String

    /// - Parameter queue: Returns the id of a dispatcher.
    init(_ record: Record, queue: @escaping (DispatcherNumber) -> String) {
        (self.record, self.queue) = (record, queue)
    }

    private func key(_ deadLetter: DeadLetter) -> DeadLetterKey {
        DeadLetterKey(queue: queue(deadLetter.dispatcher), number: deadLetter.sequenceNumber)
    }

    /// Returns the number under which an event was first accepted.
    func first(_ number: SequenceNumber) -> SequenceNumber { firsts[number] ?? number }

    /// The numbers of dead letters that have been read.
    var numbers: [DeadLetterNumber] { known.keys.sorted() }

    /// Returns true if an event is or was dead-lettered.
    func isKnown(_ key: DeadLetterKey) -> Bool {
        written.contains(key) || requested.contains(key) || gone.contains(key)
    }

    // MARK: Store operations

    /// Records the changes of dead letters in a write.
    /// - Parameter dead: The events dead-lettered in this life.
    func requested(_ changes: [StoreChange], dead: @autoclosure () -> Set<DeadLetterKey>) {
        for change in changes {
            switch change {
            case .deadLetter(let deadLetter): requested.insert(key(deadLetter))
            case .forgetDispatcher(let number): forgotten(queue(number), dead())
            default: break
            }
        }
    }

    /// Records that a dispatcher is dropped together with its dead letters, now or when that can be written. Unwritten
    /// dead letters of that dispatcher are no longer expected.
    private func forgotten(_ queue: String, _ dead: Set<DeadLetterKey>) {
        let its = written.union(requested).filter { $0.queue == queue }
        gone.formUnion(its)
        gone.formUnion(dead.filter { $0.queue == queue })
        forgetting.formUnion(its)
        forgotten.formUnion(its)
    }

    func answered(_ changes: [StoreChange], _ fault: StoreFault?) {
        guard fault == nil else { return }
        if changes.contains(where: { if case .forgetDispatcher = $0 { true } else { false } }) {
            written.subtract(forgetting)
            requested.subtract(forgetting)
            forgetting = []
        }
        for case .deadLetter(let deadLetter) in changes
        where !gone.contains(key(deadLetter)) || requested.contains(key(deadLetter)) {
            record.expect(requested.remove(key(deadLetter)) != nil, "dead letter \(key(deadLetter)) is written twice")
            written.insert(key(deadLetter))
        }
    }

    func read(_ page: StoredDeadLetterPage) {
        for stored in page.deadLetters { known[stored.number] = stored }
    }

    /// Records events that are given to the store, some of which may be requeued dead letters, in the same order.
    func requested(_ group: AppendGroup) {
        var deadLetters = group.requeued.compactMap { known[$0] }[...]
        record.expect(deadLetters.count == group.requeued.count, "unread dead letters are requeued")
        for event in group.chunk {
            (firsts[event.sequenceNumber], returning[event.sequenceNumber]) = (nil, nil)
            guard let stored = deadLetters.first, stored.deadLetter.event?.id == event.id else { continue }
            deadLetters.removeFirst()
            returning[event.sequenceNumber] = key(stored.deadLetter)
            firsts[event.sequenceNumber] = first(stored.deadLetter.sequenceNumber)
        }
        record.expect(
            deadLetters.isEmpty, "\(deadLetters.map(\.number)) are reported as requeued, but their events are missing")
    }

    func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        for event in group.chunk {
            // Events reported as not stored may be found after a crash.
            guard fault == nil, let key = returning.removeValue(forKey: event.sequenceNumber) else { continue }
            returned.insert(key)
            record.expect(written.remove(key) != nil, "\(key) is requeued but was no dead letter")
            record.count(.requeued)
            requeued += 1
            gone.insert(key)
        }
    }

    func purging(_ query: DeadLetterQuery) {
        purging = query
    }

    /// Checks the result of a purge, and records it.
    /// - Parameters:
    ///   - count: The number that the store reports, or nil if the purge failed.
    ///   - table: The remaining dead letters.
    func purged(_ query: DeadLetterQuery, _ count: Int?, _ table: [StoredDeadLetter]) {
        purging = nil
        let deleted = written.subtracting(table.map { key($0.deadLetter) })
        // Dead letters of a dropped dispatcher may be gone with the dispatcher, unreported so far. The dispatcher may
        // exist again under another number, which the query then refers to.
        let certain = deleted.subtracting(forgetting)
        record.expect(certain.allSatisfy { isMatch($0, query) }, "\(certain) are deleted but do not match")
        if count == nil { mayBePurged.formUnion(written.filter { isMatch($0, query) }) }
        record.expect(
            count.map { (certain.count...deleted.count).contains($0) } ?? true,
            "\(count ?? 0) dead letters are reported as deleted, not \(deleted)")
        if !deleted.isEmpty { record.count(.deadLettersPurged) }
        written.subtract(deleted)
        gone.formUnion(deleted)
        purged += min(count ?? deleted.count, deleted.count)
    }

    private func isMatch(_ key: DeadLetterKey, _ query: DeadLetterQuery) -> Bool {
        query.dispatcher.map { queue($0) == key.queue } ?? true
    }

    private func isPerhapsPurged(_ key: DeadLetterKey) -> Bool {
        mayBePurged.contains(key) || purging.map { isMatch(key, $0) } == true
    }

    // MARK: Restarts

    /// Checks an opened store: each event is in the queue or among the dead letters (Behaviour D10), and none is lost.
    /// - Parameters:
    ///   - table: The dead letters in the store.
    ///   - queued: The events in the queue, by dispatcher.
    ///   - dead: The events dead-lettered in the previous life.
    ///   - damaged: Events that are or may be damaged. A dead-lettered one without a stored dead letter is not in the
    ///     queue either.
    func reopened(
        _ table: [StoredDeadLetter], queued: [String: Set<SequenceNumber>], dead: Set<DeadLetterKey>,
        damaged: Set<SequenceNumber>, after end: LifeEnd, isLax: Bool
    ) {
        let found = Set(table.map { key($0.deadLetter) })
        let isQueued = { (key: DeadLetterKey) in queued[key.queue]?.contains(key.number) == true }
        record.expect(found.count == table.count, "an event has two dead letters")
        let doubled = found.filter(isQueued)
        record.expect(doubled.isEmpty, "\(doubled) are pending and dead letters")
        if !isLax { checkReturning(found, queued, damaged) }
        let undone = if case .powerless = end { true } else { false }
        for key in written.union(requested).union(dead).subtracting(found) where !isQueued(key) {
            let isExplained =
                gone.contains(key) || returning.values.contains(key) || isPerhapsPurged(key)
                || dead.contains(key) && damaged.contains(key.number)
            record.expect(isExplained || isLax, "the dead letter of \(key) is lost")
            // The dead letter was purged, possibly without a report. A later power failure may undo the purge.
            gone.insert(key)
        }
        for key in found.subtracting(written).subtracting(requested) {
            record.expect(
                undone && gone.contains(key), "a dead letter of \(key) exists, deleted or never written")
        }
        if !found.isEmpty { record.count(.deadLettersKept) }
        known = [:]
        (written, requested, requeued, returning, purging) = (found, [], 0, [:], nil)
        (forgetting, forgotten, returned, mayBePurged) = ([], [], [], [])
    }

    /// Checks that a crash neither loses nor duplicates an event being requeued. After a power failure it may be
    /// pending as if never dead-lettered, and may be damaged there.
    private func checkReturning(
        _ found: Set<DeadLetterKey>, _ queued: [String: Set<SequenceNumber>], _ damaged: Set<SequenceNumber>
    ) {
        for key in Set(returning.values).sorted(by: { ($0.queue, $0.number) < ($1.queue, $1.number) }) {
            let numbers = [key.number] + returning.filter { $0.value == key }.keys
            let waiting = numbers.filter { queued[key.queue]?.contains($0) == true }
            let count = waiting.count + [found, returned].count { $0.contains(key) }
            // A failed requeue keeps the dead letter, which may have been purged since.
            let isPurged = gone.contains(key) || isPerhapsPurged(key)
            let isSo = count == 1 || count == 0 && (isPurged || !damaged.isDisjoint(with: numbers))
            record.expect(isSo, "\(key), which was being requeued, is in \(count) lists")
            record.count(.requeueCut)
        }
    }

    /// Checks the dead letters at the end.
    func check(_ table: [StoredDeadLetter], dead: Set<DeadLetterKey>, counted: Int) {
        let found = Set(table.map { key($0.deadLetter) })
        record.expect(found == written, "the dead letters are \(found), not \(written)")
        record.expect(requested.isEmpty, "dead letters \(requested) are not written")
        let missing = dead.subtracting(found).subtracting(gone)
        record.expect(missing.isEmpty, "\(missing) have no dead letter")
        record.expect(counted == requeued, "\(counted) are counted as requeued, not \(requeued)")
    }
}
