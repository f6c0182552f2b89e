import HeadgateCore

/// The account of the attempts that a dispatcher has charged to each event in one life (Behaviour D9).
struct Charges {
    static let mostAttempts = 2

    private var attempts: [SequenceNumber: Int] = [:]
    private let lane: Lane
    private let record: Record

    init(_ lane: Lane, _ record: Record) {
        self.lane = lane
        self.record = record
    }

    /// What is sent tells the charged attempts, and one. A dispatcher that has left and come back begins to count anew, like one
    /// after a restart; one that had not left yet does not.
    mutating func expect(_ event: Batch.Event) {
        let (number, told) = (event.sequenceNumber, event.attempt)
        let due = attempts[number, default: 0] + 1
        if lane.isPatchy, told < due {
            attempts[number] = told - 1
            return
        }
        record.expect(told == due, "\(lane.id) gets \(number) as attempt \(told), not \(due)")
    }

    mutating func account(_ number: SequenceNumber, _ outcome: EventOutcome) {
        switch outcome {
        case .delivered: lane.delivered(number)
        case .dead: lane.died(number)
        case .retry(_, let isCharged): if isCharged { charge(number) }
        }
    }

    mutating func charge(_ number: SequenceNumber) {
        attempts[number, default: 0] += 1
        guard attempts[number] == Charges.mostAttempts else { return record.count(.triedAgain) }
        record.count(.givenUp)
        lane.died(number)
    }
}
