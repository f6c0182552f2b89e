import HeadgateCore

/// The slow and obvious account of what has become of each event on its way to one dispatcher.
final class Lane {
    let id: String
    /// Safe, and not seen to end.
    private(set) var waiting: Set<SequenceNumber> = []
    /// Ended in this life of the daemon.
    private(set) var delivered: Set<SequenceNumber> = []
    private(set) var dead: Set<SequenceNumber> = []
    /// Dropped by a transformation.
    private(set) var dropped: Set<SequenceNumber> = []
    /// Ended or let go of in an earlier life. Where that was not written down it may come again.
    private var before: Set<SequenceNumber> = []
    private let record: Record
    let ages: Ages
    /// Events that rot has taken, or may have.
    var damaged: () -> Set<SequenceNumber> = { [] }
    /// The daemon has given an event up for how long it was tried (Behaviour D9).
    var agedOut: (SequenceNumber) -> Void = { _ in }
    let letters: LetterBook

    init(id: String, record: Record, ages: Ages, letters: LetterBook) {
        (self.id, self.record, self.ages, self.letters) = (id, record, ages, letters)
    }

    /// Whether there is no dispatcher at first.
    var comesLater: Bool { id == "c" || id == ConfigurationFile.lane }

    /// Whether an event is or was for it.
    func isKnown(_ number: SequenceNumber) -> Bool {
        [waiting, delivered, dead, dropped].contains { $0.contains(number) }
    }

    /// Whether there was anything for it in this life.
    var hasHadSome: Bool { [waiting, delivered, dead, dropped].contains { !$0.isEmpty } }

    func safe(_ number: SequenceNumber) {
        waiting.insert(number)
    }

    /// An event is on its way.
    func taken(_ number: SequenceNumber) {
        record.expect(!delivered.contains(number), "\(id) gets \(number), which it has acknowledged")
        record.expect(!dead.contains(number), "\(id) gets \(number), which is dead")
        record.expect(waiting.contains(number), "\(id) gets \(number), which is not for it, or not safe")
        record.expect(!ages.isOver(number), "\(id) gets \(number), which is too old")
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
        record.expect(waiting.remove(number) != nil, "\(number) is dropped for \(id), and not for it, or not safe")
        dropped.insert(number)
    }

    /// Whether its dispatcher came or went in this life, so that its counters are not all that happened.
    var isPatchy = false
    /// How many have been let go of as too old in this life.
    private var expired = 0

    /// None is let go of before its time (Behaviour Q4).
    func checkAges(_ counters: Counters<DispatcherCounter>) {
        guard counters[.expired] != expired else { return }
        expired = counters[.expired]
        record.count(.expired)
        let over = waiting.count(where: ages.isOver) + damaged().count
        record.expect(expired <= over, "\(id) let go of \(expired) as too old, and \(over) are")
    }

    // MARK: Restarts

    /// A store was opened.
    /// - Parameters:
    ///   - found: what it has for this dispatcher.
    ///   - lost: how many events were let go of in the life before, as the daemon counted them.
    ///   - unanswered: what may be there, or not.
    func reopened(
        _ found: Set<SequenceNumber>, lost: Int, unanswered: Set<SequenceNumber>, after end: LifeEnd, isLax: Bool
    ) {
        let known = waiting.union(unanswered)
        let again = found.subtracting(known)
        let ended = delivered.union(dead).union(dropped)
        let foreign = again.subtracting(ended).subtracting(before)
        record.expect(foreign.isEmpty, "\(id) has \(foreign.sorted()), which nobody tracked")
        if case .stopped = end, !isLax {
            record.expect(again.isEmpty, "\(id) forgot over an orderly stop that \(again.sorted()) had ended")
        }
        if !again.isEmpty { record.count(.endForgotten) }
        let missing = waiting.subtracting(found)
        record.expect(
            missing.subtracting(damaged()).count <= lost || isLax,
            "\(id) has lost \(missing.sorted()), and let go of \(lost) only")
        before.formUnion(ended.union(missing))
        (waiting, delivered, dead, dropped, expired) = (found, [], [], [], 0)
        isPatchy = false
    }

    /// All is quiet, so that nothing waits: what was not seen to end was let go of, and counted.
    func check(_ counters: Counters<DispatcherCounter>?) {
        guard let counters else { return record.expect(false, "there is no \(id)") }
        record.expect(counters[.sent] == delivered.count, "\(id): sent is \(counters[.sent]), not \(delivered.count)")
        record.expect(counters[.dead] == dead.count, "\(id): dead is \(counters[.dead]), not \(dead.count)")
        let lost = counters[.evicted] + counters[.expired]
        let isExplained = lost == waiting.count || abs(lost - waiting.count) <= damaged().count
        record.expect(isExplained, "\(id): \(waiting.sorted()) are gone, and \(lost) counted so")
    }
}
