/// The account of the dead letters: their number and size, their limits, and the dispatchers that are held until there
/// is room (Behaviour D10).
final class DeadLetterTotals {
    private let events: EventQueue
    private let settlements: Settlements
    private let turn: PendingEvaluations
    /// The used part of the limits from which `status` warns.
    static let warningLevel = 0.8
    /// The dispatchers that are held until there is room.
    private var held: Set<String> = []

    init(events: EventQueue, settlements: Settlements, turn: PendingEvaluations) {
        (self.events, self.settlements, self.turn) = (events, settlements, turn)
        settlements.afterWrite = { [weak self] in self?.changed() }
    }

    /// The number and size of all dead letters, stored or still being written.
    var used: Tally { events.store.deadLetterTally + settlements.unwrittenDeadLetters }

    var bounds: DeadLetterLimits { events.limits.deadLetters }

    /// The room for further dead letters. With `drop_oldest` only those that could not be written yet count: no stored
    /// dead letter is dropped for one that may never reach the disk.
    var room: DeadLetterRoom {
        switch events.limits.deadLettersFull {
        case .hold: DeadLetterRoom(bounds, beside: used)
        case .dropOldest: DeadLetterRoom(bounds, beside: settlements.unwrittenDeadLetters)
        }
    }

    /// Stores dead letters. With `drop_oldest` the oldest dead letters are dropped to make room.
    func keep(_ deadLetters: [DeadLetter]) {
        for deadLetter in deadLetters { settlements.add(.deadLetter(deadLetter)) }
        guard events.limits.deadLettersFull == .dropOldest, bounds.isExceeded(by: used) else { return }
        settlements.add(.limitDeadLetters(bounds))
    }

    /// Records that a dispatcher is held until there is room.
    func hold(_ dispatcher: String) { held.insert(dispatcher) }

    /// Records that a dispatcher is not held any more.
    func release(_ dispatcher: String) { held.remove(dispatcher) }

    /// Evaluates the held dispatchers, after dead letters may have been removed.
    func changed() {
        for dispatcher in held { turn.evaluate(dispatcher) }
    }
}
