import HeadgateCore

/// The model of a dispatcher's charged attempts and retry times in one life (Behaviour D9).
struct Charges {
    private var attempts: [SequenceNumber: Int] = [:]
    /// The time at which each event was first charged.
    private var firsts: [SequenceNumber: Instant] = [:]
    /// Events that may be dead-lettered for their age. The daemon reports that with their dead letters.
    private(set) var perhapsDead: Set<SequenceNumber> = []
    /// Events that must be dead-lettered for their age.
    private var overdue: Set<SequenceNumber> = []
    /// Bounds of the time for which the destination was reachable: the model does not know the exact waits.
    private var least = HeardTime()
    private var most = HeardTime()
    /// True if the lower bound is certain: for overlapping attempts the daemon may count less.
    var isAlone: Bool
    private let patience: Patience
    private let queue: QueueModel
    private let record: Record

    init(_ queue: QueueModel, _ record: Record, _ patience: Patience = .default, isAlone: Bool = false) {
        (self.queue, self.record, self.patience, self.isAlone) = (queue, record, patience, isAlone)
    }

    /// Checks the attempt number of a sent event. A dispatcher that was removed and added again restarts its count, as
    /// after a restart; one not removed yet does not.
    mutating func expect(_ event: Batch.Event) {
        let (number, reported) = (event.sequenceNumber, event.attempt)
        let isOverdue = overdue.contains(number) && !queue.isPatchy
        record.expect(!isOverdue, "\(queue.id) gets \(number), which exceeded its maximum retry age")
        perhapsDead.remove(number)
        overdue.remove(number)
        let due = attempts[number, default: 0] + 1
        if queue.isPatchy, reported < due {
            attempts[number] = reported - 1
            return
        }
        record.expect(reported == due, "\(queue.id) gets \(number) as attempt \(reported), not \(due)")
    }

    mutating func account(_ number: SequenceNumber, _ outcome: EventOutcome, at now: Instant) {
        switch outcome {
        case .delivered, .duplicate: queue.delivered(number)
        case .dead: queue.died(number)
        case .retry(_, let isCharged): if isCharged { charge(number, at: now) }
        }
    }

    /// Records a lost worker: the last allowed attempt is only charged to an event that was alone (Behaviour K3).
    mutating func lost(_ number: SequenceNumber, inBatchOf count: Int, at now: Instant) {
        let isLast = attempts[number, default: 0] + 1 >= patience.mostAttempts
        if isLast && count > 1 { record.count(.lastSpared) } else { charge(number, at: now) }
    }

    mutating func charge(_ number: SequenceNumber, at now: Instant) {
        attempts[number, default: 0] += 1
        if attempts[number] == patience.mostAttempts {
            record.count(.deadLettered)
            return queue.died(number)
        }
        record.count(.triedAgain)
        judge(number, at: now)
    }

    // MARK: Ages

    /// Records an answer of the destination.
    mutating func answering(from start: Instant, to end: Instant) {
        least.answering(from: start, to: end)
        most.answering(from: start, to: end)
    }

    /// Records a wait that the answer causes.
    mutating func waits(from now: Instant, atLeast floor: Duration) {
        least.answering(from: now, to: now + floor)
        most.answering(from: now, to: now + max(floor, patience.longestWait))
    }

    private mutating func judge(_ number: SequenceNumber, at now: Instant) {
        guard let mostAge = patience.mostAge else { return }
        guard let first = firsts[number] else {
            firsts[number] = now
            return
        }
        if most.between(first, now) >= mostAge { perhapsDead.insert(number) }
        if isAlone, least.between(first, now) >= mostAge { overdue.insert(number) }
    }

    /// Records that the daemon dead-lettered an event for its age.
    func agedOut(_ number: SequenceNumber) {
        record.expect(perhapsDead.contains(number), "\(queue.id) dead-letters \(number) before its maximum retry age")
        record.count(overdue.contains(number) ? .triedTooLong : .triedForLong)
        queue.died(number)
    }
}
