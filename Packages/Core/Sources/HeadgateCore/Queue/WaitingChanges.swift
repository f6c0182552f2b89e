/// Changes that are to be written down, in order, and how many of them at once (Behaviour Q8). Pure.
///
/// A dead letter takes as much room as its event, and on a full disk there may be none. What says which events are settled makes room, and
/// must not wait for it: where there was no room for all, what does not rely on letters is written by itself, of what is settled that
/// without the events whose letters wait, and then some letters at a time (decision 52).
struct WaitingChanges {
    private var changes: [StoreChange] = []
    private var share = Share.all

    private enum Share: Equatable {
        case all
        /// What comes up to so many dead letters, the oldest.
        case letters(Int)
        /// What does not rely on dead letters.
        case besides
    }

    /// With more letters than these at once, all are written at once again.
    private static let mostLettersAtOnce = 10_000

    var isEmpty: Bool { changes.isEmpty }

    /// The dead letters among them, and the bytes of their events.
    private(set) var letterTally = Tally.zero

    mutating func add(_ change: StoreChange) {
        changes.append(change)
        letterTally += change.letterTally
    }

    mutating func removeAll() {
        (changes, letterTally) = ([], .zero)
    }

    /// Whether there are dead letters among them.
    var hasLetters: Bool { changes.contains(where: \.isDeadLetter) }

    /// The dispatchers that are to be given up.
    var forgets: [DispatcherNumber] { changes.compactMap(\.forgottenDispatcher) }

    /// Takes those that are to be written next.
    mutating func take() -> [StoreChange] {
        let taken = takeShare()
        letterTally -= taken.letterTally
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

    /// Which of them are, asked in their order.
    private func isShared() -> (StoreChange) -> Bool {
        switch share {
        case .all: return { _ in true }
        case .letters(var left):
            return { change in
                defer { if change.isDeadLetter { left -= 1 } }
                return left > 0
            }
        case .besides:
            let dispatchers = Set(letters.map(\.dispatcher))
            return { !$0.relies(onLettersOf: dispatchers) }
        }
    }

    /// There was nothing to be written without them.
    mutating func goOn() {
        share = .letters(1)
    }

    /// Those that were taken are written.
    mutating func written() {
        switch share {
        case .all: return
        case .besides: goOn()
        case .letters(let most): share = most < WaitingChanges.mostLettersAtOnce ? .letters(2 * most) : .all
        }
        if !hasLetters { share = .all }
    }

    /// They are not.
    mutating func putBack(_ taken: [StoreChange], _ fault: StoreFault) {
        changes = WaitingChanges.condensed(taken + changes)
        letterTally = changes.letterTally
        guard hasLetters else {
            share = .all
            return
        }
        guard case .noRoom = fault else { return }
        share = share == .besides ? .letters(1) : .besides
    }

    /// Returns what has to be kept of changes that wait for a store that fails, so that they do not grow without end: of those
    /// that supersede each other the last. No dead letter is left out: those that wait take the room of others, so that a
    /// barrier holds the dispatchers whose letters have none (``LetterShelf``).
    private static func condensed(_ changes: [StoreChange]) -> [StoreChange] {
        let subjects = changes.indices.compactMap { index in changes[index].subject.map { ($0, index) } }
        let last = Dictionary(subjects) { $1 }
        return changes.indices.compactMap { index in
            let change = changes[index]
            if change.isSaidAgain { return nil }
            if let subject = change.subject, last[subject] != index { return nil }
            // Nothing that was said of a dispatcher before it was given up holds any more.
            if let number = change.dispatcher, let end = last[.forgottenDispatcher(number)], end > index { return nil }
            return change
        }
    }
}

// MARK: What may be said before them

extension WaitingChanges {
    /// With more holes than these what is said of a dispatcher ends: it must not take much room itself.
    private static let mostHoles = 64

    /// What of that which a dispatcher has settled may be written before what waits: not that an event is whose letter may be lost, nor anything of
    /// one whose number was another's that is to be given up first.
    func sayable(_ settled: Settled, of dispatcher: DispatcherNumber) -> Settled? {
        guard !forgets.contains(dispatcher) else { return nil }
        let dead = letters.filter { $0.dispatcher == dispatcher }.map(\.sequenceNumber).sorted()
        let holes = dead.prefix(WaitingChanges.mostHoles)
        let part = settled.without(holes)
        guard let end = dead.dropFirst(holes.count).first else { return part }
        return part.through(end - 1)
    }

    /// Up to which event may be said that nobody needs any.
    func sayable(_ trim: SequenceNumber) -> SequenceNumber {
        letters.reduce(trim) { min($0, $1.sequenceNumber - 1) }
    }

    private var letters: some Sequence<DeadLetter> {
        changes.lazy.compactMap { if case .deadLetter(let letter) = $0 { letter } else { nil } }
    }
}

/// What a change is about, where a later one of the same supersedes it.
private enum ChangeSubject: Hashable {
    case dispatcher(DispatcherNumber)
    case forgottenDispatcher(DispatcherNumber)
    case forgottenIDs
    case letterBounds
    case kept(String)
}

extension StoreChange {
    /// Nil where nothing supersedes it.
    fileprivate var subject: ChangeSubject? {
        switch self {
        case .dispatcher(let dispatcher): .dispatcher(dispatcher.number)
        case .forgetDispatcher(let number): .forgottenDispatcher(number)
        case .forgetIDs: .forgottenIDs
        case .keep(let name, _): .kept(name)
        case .limitLetters: .letterBounds
        case .settled, .deadLetter, .forgetRoutes, .trim: nil
        }
    }

    /// Whether it is said again, with more, by whoever knows what is settled.
    fileprivate var isSaidAgain: Bool {
        switch self {
        case .settled, .trim: true
        default: false
        }
    }

    fileprivate var isDeadLetter: Bool { if case .deadLetter = self { true } else { false } }

    /// The dispatcher of which it says that there is one, or whose letter it is.
    fileprivate var dispatcher: DispatcherNumber? {
        switch self {
        case .dispatcher(let known): known.number
        case .deadLetter(let letter): letter.dispatcher
        default: nil
        }
    }

    /// Whether it must not be written before the dead letters of some dispatchers.
    fileprivate func relies(onLettersOf dispatchers: Set<DispatcherNumber>) -> Bool {
        switch self {
        case .deadLetter, .limitLetters: true
        case .dispatcher(let known): dispatchers.contains(known.number)
        case .forgetDispatcher(let number): dispatchers.contains(number)
        // Their events are settled only then.
        case .forgetRoutes: !dispatchers.isEmpty
        case .settled, .trim, .forgetIDs, .keep: false
        }
    }

    /// The dead letter that it is, and the bytes of its event.
    fileprivate var letterTally: Tally {
        if case .deadLetter(let letter) = self { Tally(events: 1, bytes: letter.record.count) } else { .zero }
    }

    /// The dispatcher that it gives up.
    var forgottenDispatcher: DispatcherNumber? {
        if case .forgetDispatcher(let number) = self { number } else { nil }
    }
}

extension [StoreChange] {
    /// The dead letters among them, and the bytes of their events.
    var letterTally: Tally { reduce(.zero) { $0 + $1.letterTally } }
}
