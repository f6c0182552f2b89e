import HeadgateCore

/// What a dead letter is about.
struct LetterKey: Hashable {
    let lane: String
    let number: SequenceNumber
}

/// The model of the dead letters (Behaviour D10): which are written down, and which went into the queue again.
final class LetterBook {
    /// Those that the store has, as it said.
    private(set) var written: Set<LetterKey> = []
    /// Those that it was asked to keep, and did not say that it does.
    private(set) var asked: Set<LetterKey> = []
    /// How many went into the queue again in this life.
    private(set) var requeued = 0
    /// How many an operator had deleted.
    private(set) var purged = 0
    /// Those that were deleted, or are in the queue again. Without power that may be undone.
    private var gone: Set<LetterKey> = []
    /// Those of dispatchers that are given up.
    private var forgetting: Set<LetterKey> = []
    /// Those of dispatchers that were given up in this life.
    private(set) var forgotten: Set<LetterKey> = []
    private var known: [LetterNumber: StoredLetter] = [:]
    /// Those that went into the queue again in this life.
    private var returned: Set<LetterKey> = []
    /// Events that are to be in the queue again, by their new numbers.
    private var returning: [SequenceNumber: LetterKey] = [:]
    /// Under which number an event was sent first that was in the queue again since.
    private var firsts: [SequenceNumber: SequenceNumber] = [:]
    /// Whose letters are being deleted, beyond doubt in part only.
    private var purging: LetterQuery?
    /// Those whose deletion failed, as it was told: a crash may show that it was done.
    private var mayBePurged: Set<LetterKey> = []
    /// Whether letters may be damaged.
    var mayRot = false
    private let record: Record
    let lane: (DispatcherNumber) -> String

    /// - Parameter lane: the id of a dispatcher.
    init(_ record: Record, lane: @escaping (DispatcherNumber) -> String) {
        (self.record, self.lane) = (record, lane)
    }

    private func key(_ letter: DeadLetter) -> LetterKey {
        LetterKey(lane: lane(letter.dispatcher), number: letter.sequenceNumber)
    }

    /// The number under which an event was accepted.
    func first(_ number: SequenceNumber) -> SequenceNumber { firsts[number] ?? number }

    /// The numbers of letters that have been read.
    var numbers: [LetterNumber] { known.keys.sorted() }

    /// Whether there is, or was, a letter about something.
    func isKnown(_ key: LetterKey) -> Bool {
        written.contains(key) || asked.contains(key) || gone.contains(key)
    }

    // MARK: Store operations

    /// - Parameter dead: what died in this life.
    func asked(_ changes: [StoreChange], dead: @autoclosure () -> Set<LetterKey>) {
        for change in changes {
            switch change {
            case .deadLetter(let letter): asked.insert(key(letter))
            case .forgetDispatcher(let number): forgotten(lane(number), dead())
            default: break
            }
        }
    }

    /// A dispatcher is given up, and its letters with it: now, or once that can be written down. Those that waited to be written are not asked for
    /// any more.
    private func forgotten(_ lane: String, _ dead: Set<LetterKey>) {
        let its = written.union(asked).filter { $0.lane == lane }
        gone.formUnion(its)
        gone.formUnion(dead.filter { $0.lane == lane })
        forgetting.formUnion(its)
        forgotten.formUnion(its)
    }

    func answered(_ changes: [StoreChange], _ fault: StoreFault?) {
        guard fault == nil else { return }
        if changes.contains(where: { if case .forgetDispatcher = $0 { true } else { false } }) {
            written.subtract(forgetting)
            asked.subtract(forgetting)
            forgetting = []
        }
        for case .deadLetter(let letter) in changes where !gone.contains(key(letter)) || asked.contains(key(letter)) {
            record.expect(asked.remove(key(letter)) != nil, "a letter about \(key(letter)) is written twice")
            written.insert(key(letter))
        }
    }

    func read(_ page: LetterPage) {
        for letter in page.letters { known[letter.number] = letter }
    }

    /// Events are given to the store: some of them may come of letters, in the same order.
    func asked(_ group: AppendGroup) {
        var letters = group.requeued.compactMap { known[$0] }[...]
        record.expect(letters.count == group.requeued.count, "letters are requeued that nobody read")
        for event in group.chunk {
            (firsts[event.sequenceNumber], returning[event.sequenceNumber]) = (nil, nil)
            guard let letter = letters.first, letter.letter.event?.id == event.id else { continue }
            letters.removeFirst()
            returning[event.sequenceNumber] = key(letter.letter)
            firsts[event.sequenceNumber] = first(letter.letter.sequenceNumber)
        }
        record.expect(
            letters.isEmpty, "\(letters.map(\.number)) are said to be requeued, and their events are not there")
    }

    func answered(_ group: AppendGroup, _ fault: StoreFault?) {
        for event in group.chunk {
            // What could not be stored, as it was told, may be found there after a crash.
            guard fault == nil, let key = returning.removeValue(forKey: event.sequenceNumber) else { continue }
            returned.insert(key)
            record.expect(written.remove(key) != nil, "\(key) is requeued, and was no letter")
            record.count(.requeued)
            requeued += 1
            gone.insert(key)
        }
    }

    func purging(_ query: LetterQuery) {
        purging = query
    }

    /// - Parameters:
    ///   - count: how many it was, as the store says; nil where it does not.
    ///   - table: what there is now.
    func purged(_ query: LetterQuery, _ count: Int?, _ table: [StoredLetter]) {
        purging = nil
        let deleted = written.subtracting(table.map { key($0.letter) })
        // Those of a dispatcher that is given up may have gone with it already: nobody has been told yet. It may be there again
        // under another number, about which the query then is.
        let certain = deleted.subtracting(forgetting)
        record.expect(certain.allSatisfy { isMeant($0, query) }, "\(certain) are deleted, and were not meant")
        if count == nil { mayBePurged.formUnion(written.filter { isMeant($0, query) }) }
        record.expect(
            count.map { (certain.count...deleted.count).contains($0) } ?? true,
            "\(count ?? 0) letters are deleted, and \(deleted) are gone")
        if !deleted.isEmpty { record.count(.lettersPurged) }
        written.subtract(deleted)
        gone.formUnion(deleted)
        purged += min(count ?? deleted.count, deleted.count)
    }

    private func isMeant(_ key: LetterKey, _ query: LetterQuery) -> Bool {
        query.dispatcher.map { lane($0) == key.lane } ?? true
    }

    private func isPerhapsPurged(_ key: LetterKey) -> Bool {
        mayBePurged.contains(key) || purging.map { isMeant(key, $0) } == true
    }

    // MARK: Restarts

    /// A store was opened: each event is in the queue or among the letters (Behaviour D10), and none vanished.
    /// - Parameters:
    ///   - table: the letters that it has.
    ///   - queued: what it has in the queue, by dispatcher.
    ///   - dead: what died in the life before.
    ///   - damaged: events that rot has taken, or may have: one that died, and has no letter yet, does not wait either.
    func reopened(
        _ table: [StoredLetter], queued: [String: Set<SequenceNumber>], dead: Set<LetterKey>,
        damaged: Set<SequenceNumber>, after end: LifeEnd, isLax: Bool
    ) {
        let found = Set(table.map { key($0.letter) })
        let isQueued = { (key: LetterKey) in queued[key.lane]?.contains(key.number) == true }
        record.expect(found.count == table.count, "two letters are about the same event")
        let doubled = found.filter(isQueued)
        record.expect(doubled.isEmpty, "\(doubled) are letters, and wait as well")
        if !isLax { checkReturning(found, queued, damaged) }
        let undone = if case .powerless = end { true } else { false }
        for key in written.union(asked).union(dead).subtracting(found) where !isQueued(key) {
            let isExplained =
                gone.contains(key) || returning.values.contains(key) || isPerhapsPurged(key)
                || dead.contains(key) && damaged.contains(key.number)
            record.expect(isExplained || isLax, "the letter about \(key) has vanished")
            // It was deleted, though nobody may have been told before the daemon ended. A later loss of power may undo that.
            gone.insert(key)
        }
        for key in found.subtracting(written).subtracting(asked) {
            record.expect(
                undone && gone.contains(key), "there is a letter about \(key), which was deleted or never dead")
        }
        if !found.isEmpty { record.count(.lettersKept) }
        known = [:]
        (written, asked, requeued, returning, purging) = (found, [], 0, [:], nil)
        (forgetting, forgotten, returned, mayBePurged) = ([], [], [], [])
    }

    /// A crash neither loses an event that was being requeued nor has it twice: without power it may wait as if it had
    /// never died, and rot may take it there.
    private func checkReturning(
        _ found: Set<LetterKey>, _ queued: [String: Set<SequenceNumber>], _ damaged: Set<SequenceNumber>
    ) {
        for key in Set(returning.values).sorted(by: { ($0.lane, $0.number) < ($1.lane, $1.number) }) {
            let numbers = [key.number] + returning.filter { $0.value == key }.keys
            let waiting = numbers.filter { queued[key.lane]?.contains($0) == true }
            let places = waiting.count + [found, returned].count { $0.contains(key) }
            // A requeue that failed leaves the letter, which may have been purged since.
            let isPurged = gone.contains(key) || isPerhapsPurged(key)
            let isSo = places == 1 || places == 0 && (isPurged || !damaged.isDisjoint(with: numbers))
            record.expect(isSo, "\(key), which was being requeued, is in \(places) places")
            record.count(.requeueCut)
        }
    }

    /// All is quiet.
    func check(_ table: [StoredLetter], dead: Set<LetterKey>, counted: Int) {
        let found = Set(table.map { key($0.letter) })
        record.expect(found == written, "there are letters about \(found), not about \(written)")
        record.expect(asked.isEmpty, "letters about \(asked) are not written down")
        let missing = dead.subtracting(found).subtracting(gone)
        record.expect(missing.isEmpty, "there is no letter about \(missing)")
        record.expect(counted == requeued, "\(counted) are counted as requeued, and \(requeued) are")
    }
}
