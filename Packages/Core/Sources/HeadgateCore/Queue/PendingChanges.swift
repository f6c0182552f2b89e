/// The changes that wait to be written, in order, and the share of them that the next write takes (Behaviour Q8). Pure.
///
/// A dead letter takes as much room as its event, and a full disk may have none. Settlements free room and must not
/// wait for dead letters. After a write failed for lack of room, the changes that do not depend on dead letters are
/// written first, without settling events whose dead letters wait. Then the dead letters are written in growing
/// portions (decision 52).
struct PendingChanges {
    private var changes: [StoreChange] = []
    private var share = Share.all

    private enum Share: Equatable {
        case all
        /// The changes up to a number of dead letters, the oldest first.
        case deadLetters(Int)
        /// The changes that do not depend on dead letters.
        case besides
    }

    /// The portion of dead letters above which all changes are written at once again.
    private static let mostDeadLettersAtOnce = 10_000

    var isEmpty: Bool { changes.isEmpty }

    /// The number of waiting dead letters and the size of their events.
    private(set) var deadLetterTally = Tally.zero

    mutating func add(_ change: StoreChange) {
        changes.append(change)
        deadLetterTally += change.deadLetterTally
    }

    mutating func removeAll() {
        (changes, deadLetterTally) = ([], .zero)
    }

    /// True if dead letters are waiting.
    var hasDeadLetters: Bool { changes.contains(where: \.isDeadLetter) }

    /// The dispatchers whose deletion is waiting.
    var forgets: [DispatcherNumber] { changes.compactMap(\.forgottenDispatcher) }

    /// Removes and returns the changes for the next write.
    mutating func take() -> [StoreChange] {
        let taken = takeShare()
        deadLetterTally -= taken.deadLetterTally
        return taken
    }

    private mutating func takeShare() -> [StoreChange] {
        if share == .all {
            defer { changes = [] }
            return changes
        }
        let isTaken = changes.map(isShared())
        defer { changes = zip(changes, isTaken).compactMap { $1 ? nil : $0 } }
        return zip(changes, isTaken).compactMap { $1 ? $0 : nil }
    }

    /// Returns a function that says for each change, in order, whether the next write takes it.
    private func isShared() -> (StoreChange) -> Bool {
        switch share {
        case .all: return { _ in true }
        case .deadLetters(var left):
            return { change in
                defer { if change.isDeadLetter { left -= 1 } }
                return left > 0
            }
        case .besides:
            let dispatchers = Set(deadLetters.map(\.dispatcher))
            return { !$0.relies(onDeadLettersOf: dispatchers) }
        }
    }

    /// Makes the next write take dead letters, because no other waiting change can be written before them.
    mutating func proceed() {
        share = .deadLetters(1)
    }

    /// Records that the last changes are written, and enlarges the share.
    mutating func written() {
        switch share {
        case .all: return
        case .besides: proceed()
        case .deadLetters(let most): share = most < PendingChanges.mostDeadLettersAtOnce ? .deadLetters(2 * most) : .all
        }
        if !hasDeadLetters { share = .all }
    }

    /// Puts changes back whose write failed, and reduces the share if there was no room.
    mutating func putBack(_ taken: [StoreChange], _ fault: StoreFault) {
        changes = PendingChanges.condensed(taken + changes)
        deadLetterTally = changes.deadLetterTally
        guard hasDeadLetters else {
            share = .all
            return
        }
        guard case .noRoom = fault else { return }
        share = share == .besides ? .deadLetters(1) : .besides
    }

    /// Returns the changes that are still needed while the store fails, so that they do not grow without bound. Of
    /// changes that supersede each other only the last is kept. All dead letters are kept: they count as stored, so
    /// that the DeadLettersBarrier holds dispatchers whose dead letters have no room (``DeadLetterTotals``).
    private static func condensed(_ changes: [StoreChange]) -> [StoreChange] {
        let subjects = changes.indices.compactMap { index in changes[index].subject.map { ($0, index) } }
        let last = Dictionary(subjects) { $1 }
        return changes.indices.compactMap { index in
            let change = changes[index]
            if change.isRecomputed { return nil }
            if let subject = change.subject, last[subject] != index { return nil }
            // A deletion of the dispatcher supersedes earlier changes of it.
            if let number = change.dispatcher, let end = last[.forgottenDispatcher(number)], end > index { return nil }
            return change
        }
    }
}

// MARK: Changes that need not wait

extension PendingChanges {
    /// The most unsettled gaps in a partial settlement. Beyond them it ends, so that it takes little room.
    private static let mostHoles = 64

    /// Returns the part of a dispatcher's settlements that may be written before the waiting changes, or nil if there
    /// is none. The part excludes events whose dead letters wait. There is none if the deletion of an earlier
    /// dispatcher with this number waits.
    func writable(_ settled: Settled, of dispatcher: DispatcherNumber) -> Settled? {
        guard !forgets.contains(dispatcher) else { return nil }
        let dead = deadLetters.filter { $0.dispatcher == dispatcher }.map(\.sequenceNumber).sorted()
        let holes = dead.prefix(PendingChanges.mostHoles)
        let part = settled.without(holes)
        guard let end = dead.dropFirst(holes.count).first else { return part }
        return part.through(end - 1)
    }

    /// Returns the sequence number up to which events may be trimmed before the waiting changes are written.
    func writable(_ trim: SequenceNumber) -> SequenceNumber {
        deadLetters.reduce(trim) { min($0, $1.sequenceNumber - 1) }
    }

    private var deadLetters: some Sequence<DeadLetter> {
        changes.lazy.compactMap { if case .deadLetter(let deadLetter) = $0 { deadLetter } else { nil } }
    }
}

/// The subject of a change. A later change of the same subject supersedes it.
private enum ChangeSubject: Hashable {
    case dispatcher(DispatcherNumber)
    case forgottenDispatcher(DispatcherNumber)
    case forgottenIDs
    case deadLetterBounds
    case retention
    case kept(String)
}

extension StoreChange {
    /// The subject of the change; nil if no other change supersedes it.
    fileprivate var subject: ChangeSubject? {
        switch self {
        case .dispatcher(let dispatcher): .dispatcher(dispatcher.number)
        case .forgetDispatcher(let number): .forgottenDispatcher(number)
        case .forgetIDs: .forgottenIDs
        case .keep(let name, _): .kept(name)
        case .limitDeadLetters: .deadLetterBounds
        case .retain: .retention
        case .settled, .deadLetter, .forgetRoutes, .trim: nil
        }
    }

    /// True if `Settlements` computes the change again for each write, so that a failed write need not keep it.
    fileprivate var isRecomputed: Bool {
        switch self {
        case .settled, .trim: true
        default: false
        }
    }

    fileprivate var isDeadLetter: Bool { if case .deadLetter = self { true } else { false } }

    /// The dispatcher that the change adds or updates, or whose dead letter it stores.
    fileprivate var dispatcher: DispatcherNumber? {
        switch self {
        case .dispatcher(let known): known.number
        case .deadLetter(let deadLetter): deadLetter.dispatcher
        default: nil
        }
    }

    /// Returns true if the change must not be written before the dead letters of some dispatchers.
    fileprivate func relies(onDeadLettersOf dispatchers: Set<DispatcherNumber>) -> Bool {
        switch self {
        case .deadLetter, .limitDeadLetters: true
        case .dispatcher(let known): dispatchers.contains(known.number)
        case .forgetDispatcher(let number): dispatchers.contains(number)
        // The events of a waiting dead letter are not settled yet.
        case .forgetRoutes: !dispatchers.isEmpty
        case .settled, .trim, .forgetIDs, .keep, .retain: false
        }
    }

    /// The dead letter of the change as a tally; zero for other changes.
    fileprivate var deadLetterTally: Tally {
        if case .deadLetter(let deadLetter) = self { Tally(events: 1, bytes: deadLetter.record.count) } else { .zero }
    }

    /// The dispatcher whose queue the change deletes; nil for other changes.
    var forgottenDispatcher: DispatcherNumber? {
        if case .forgetDispatcher(let number) = self { number } else { nil }
    }
}

extension [StoreChange] {
    /// The number of dead letters among the changes and the size of their events.
    var deadLetterTally: Tally { reduce(.zero) { $0 + $1.deadLetterTally } }
}
