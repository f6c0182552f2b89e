/// Knows how many dead letters there are and how many there may be, and which dispatchers wait for room for theirs
/// (Behaviour D10).
final class LetterShelf {
    private let events: EventQueue
    private let settlements: Settlements
    private let turn: TurnRecord
    /// So much of the room used is worth a warning.
    static let muchUsed = 0.8
    /// Dispatchers that are held until there is room.
    private var held: Set<String> = []

    init(events: EventQueue, settlements: Settlements, turn: TurnRecord) {
        (self.events, self.settlements, self.turn) = (events, settlements, turn)
        settlements.afterWrite = { [weak self] in self?.changed() }
    }

    /// All dead letters: those that the store has, and those that wait to be written.
    var used: Tally { events.store.letters + settlements.unwrittenLetters }

    var bounds: LetterBounds { events.limits.deadLetters }

    /// The room for further letters. Where the oldest are dropped, only those that could not be written yet take any: nothing is
    /// dropped to make room for what no disk has.
    var room: LetterRoom {
        switch events.limits.deadLettersFull {
        case .hold: LetterRoom(bounds, beside: used)
        case .dropOldest: LetterRoom(bounds, beside: settlements.unwrittenLetters)
        }
    }

    /// Puts letters aside. Where settings say so, the oldest make room for them.
    func keep(_ letters: [DeadLetter]) {
        for letter in letters { settlements.add(.deadLetter(letter)) }
        guard events.limits.deadLettersFull == .dropOldest, bounds.isExceeded(by: used) else { return }
        settlements.add(.limitLetters(bounds))
    }

    /// A dispatcher is held until there is room.
    func hold(_ dispatcher: String) { held.insert(dispatcher) }

    /// A dispatcher is not held any more.
    func release(_ dispatcher: String) { held.remove(dispatcher) }

    /// Letters may have gone: the dispatchers that wait for room look whether there is any.
    func changed() {
        for dispatcher in held { turn.look(dispatcher) }
    }
}
