import HeadgateCore

/// The account of the attempts that a dispatcher has charged to each event in one life, and of how long it has tried
/// (Behaviour D9).
struct Charges {
    private var attempts: [SequenceNumber: Int] = [:]
    /// When each was charged for the first time.
    private var firsts: [SequenceNumber: Instant] = [:]
    /// Those that may have been given up for their age: the daemon says so with their letters.
    private(set) var perhapsDead: Set<SequenceNumber> = []
    /// Those of them that must have been.
    private var overdue: Set<SequenceNumber> = []
    /// When the destination was heard at least, and at most: the model does not know how long the dispatcher waits.
    private var least = HeardTime()
    private var most = HeardTime()
    /// Whether the time that the model counts at least is beyond doubt: of attempts that overlap the daemon may count less.
    var isAlone: Bool
    private let patience: Patience
    private let lane: Lane
    private let record: Record

    init(_ lane: Lane, _ record: Record, _ patience: Patience = .usual, isAlone: Bool = false) {
        (self.lane, self.record, self.patience, self.isAlone) = (lane, record, patience, isAlone)
    }

    /// What is sent tells the charged attempts, and one. A dispatcher that has left and come back begins to count anew, like one
    /// after a restart; one that had not left yet does not.
    mutating func expect(_ event: Batch.Event) {
        let (number, told) = (event.sequenceNumber, event.attempt)
        let isOverdue = overdue.contains(number) && !lane.isPatchy
        record.expect(!isOverdue, "\(lane.id) gets \(number), which was tried for too long")
        perhapsDead.remove(number)
        overdue.remove(number)
        let due = attempts[number, default: 0] + 1
        if lane.isPatchy, told < due {
            attempts[number] = told - 1
            return
        }
        record.expect(told == due, "\(lane.id) gets \(number) as attempt \(told), not \(due)")
    }

    mutating func account(_ number: SequenceNumber, _ outcome: EventOutcome, at now: Instant) {
        switch outcome {
        case .delivered, .duplicate: lane.delivered(number)
        case .dead: lane.died(number)
        case .retry(_, let isCharged): if isCharged { charge(number, at: now) }
        }
    }

    mutating func charge(_ number: SequenceNumber, at now: Instant) {
        attempts[number, default: 0] += 1
        if attempts[number] == patience.mostAttempts {
            record.count(.givenUp)
            return lane.died(number)
        }
        record.count(.triedAgain)
        judge(number, at: now)
    }

    // MARK: Ages

    /// The destination answered.
    mutating func heard(from start: Instant, to end: Instant) {
        least.heard(from: start, to: end)
        most.heard(from: start, to: end)
    }

    /// Its answer makes the dispatcher wait.
    mutating func waits(from now: Instant, atLeast floor: Duration) {
        least.heard(from: now, to: now + floor)
        most.heard(from: now, to: now + max(floor, patience.longestWait))
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

    /// The daemon has given an event up for its age.
    func agedOut(_ number: SequenceNumber) {
        record.expect(perhapsDead.contains(number), "\(lane.id) gives \(number) up for its age, before that is over")
        record.count(overdue.contains(number) ? .triedTooLong : .triedForLong)
        lane.died(number)
    }
}
