import HeadgateCore

/// The model of the outcome of each event of one dispatcher.
final class QueueModel {
    let id: String
    /// Stored events without a known outcome.
    private(set) var waiting: Set<SequenceNumber> = []
    /// Events delivered in this life of the daemon. `dead` has the dead-lettered ones.
    private(set) var delivered: Set<SequenceNumber> = []
    private(set) var dead: Set<SequenceNumber> = []
    /// Events dropped by a transformation.
    private(set) var dropped: Set<SequenceNumber> = []
    /// Events settled in an earlier life. If the settlement was not written, they may be sent again.
    private var before: Set<SequenceNumber> = []
    private let record: Record
    let ages: Ages
    /// Events that are or may be damaged.
    var damaged: () -> Set<SequenceNumber> = { [] }
    /// Called when the daemon has dead-lettered an event for its retry age (Behaviour D9).
    var agedOut: (SequenceNumber) -> Void = { _ in }
    let deadLetters: DeadLetterBook

    init(id: String, record: Record, ages: Ages, deadLetters: DeadLetterBook) {
        (self.id, self.record, self.ages, self.deadLetters) = (id, record, ages, deadLetters)
    }

    /// True if the dispatcher does not exist at first.
    var comesLater: Bool { id == "c" || id == ConfigurationFile.queue }

    /// Returns true if an event is or was for this dispatcher.
    func isKnown(_ number: SequenceNumber) -> Bool {
        [waiting, delivered, dead, dropped].contains { $0.contains(number) }
    }

    /// True if there was any event for the dispatcher in this life.
    var hasHadSome: Bool { [waiting, delivered, dead, dropped].contains { !$0.isEmpty } }

    func safe(_ number: SequenceNumber) {
        waiting.insert(number)
    }

    /// Checks an event that is sent.
    func taken(_ number: SequenceNumber) {
        record.expect(!delivered.contains(number), "\(id) gets \(number), which is already delivered")
        record.expect(!dead.contains(number), "\(id) gets \(number), which is dead-lettered")
        record.expect(waiting.contains(number), "\(id) gets \(number), which is not routed to it or not stored")
        record.expect(!ages.isOver(number), "\(id) gets \(number), which has expired")
    }

    func delivered(_ number: SequenceNumber) {
        waiting.remove(number)
        delivered.insert(number)
    }

    func died(_ number: SequenceNumber) {
        waiting.remove(number)
        dead.insert(number)
    }

    func dropped(_ number: SequenceNumber) {
        record.expect(waiting.remove(number) != nil, "\(number) is dropped for \(id), but is not pending")
        dropped.insert(number)
    }

    /// True if the dispatcher was added or removed in this life, so that its counters are incomplete.
    var isPatchy = false
    /// The number of expired events in this life.
    private var expired = 0

    /// Checks that no event expires too early (Behaviour Q4).
    func checkAges(_ counters: Counters<DispatcherCounter>) {
        guard counters[.expired] != expired else { return }
        expired = counters[.expired]
        record.count(.expired)
        let over = waiting.count(where: ages.isOver) + damaged().count
        record.expect(expired <= over, "\(id) expired \(expired) events, but only \(over) are due")
    }

    // MARK: Restarts

    /// Checks an opened store.
    /// - Parameters:
    ///   - found: The events that the store has for this dispatcher.
    ///   - lost: The number of events that the daemon counted as expired or evicted in the previous life.
    ///   - unanswered: Events that may or may not be stored.
    func reopened(
        _ found: Set<SequenceNumber>, lost: Int, unanswered: Set<SequenceNumber>, after end: LifeEnd, isLax: Bool
    ) {
        let known = waiting.union(unanswered)
        let again = found.subtracting(known)
        let ended = delivered.union(dead).union(dropped)
        let foreign = again.subtracting(ended).subtracting(before)
        record.expect(foreign.isEmpty, "\(id) has \(foreign.sorted()), which were never tracked")
        if case .stopped = end, !isLax {
            record.expect(again.isEmpty, "\(id) lost settlements of \(again.sorted()) in an orderly stop")
        }
        if !again.isEmpty { record.count(.endForgotten) }
        let missing = waiting.subtracting(found)
        record.expect(
            missing.subtracting(damaged()).count <= lost || isLax,
            "\(id) has lost \(missing.sorted()), but counted only \(lost)")
        before.formUnion(ended.union(missing))
        (waiting, delivered, dead, dropped, expired) = (found, [], [], [], 0)
        isPatchy = false
    }

    /// Checks the counters at the end: no event is pending, and those without an outcome must be counted as expired or
    /// evicted.
    func check(_ counters: Counters<DispatcherCounter>?) {
        guard let counters else { return record.expect(false, "dispatcher \(id) is missing") }
        record.expect(counters[.sent] == delivered.count, "\(id): sent is \(counters[.sent]), not \(delivered.count)")
        record.expect(counters[.dead] == dead.count, "\(id): dead is \(counters[.dead]), not \(dead.count)")
        let lost = counters.lost
        let isExplained = lost == waiting.count || abs(lost - waiting.count) <= damaged().count
        record.expect(isExplained, "\(id): \(waiting.sorted()) are gone, but \(lost) are counted")
    }
}
