import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// What all workers of one dispatcher have in hand, and the slow and obvious account of what became of it (Behaviour K3).
final class WorkSide: SenderWitness {
    let lane: Lane
    let terms: Terms
    /// What workers were given and have read, of batches that have not ended.
    private var jobs: [Job] = []
    /// Batches that have ended, which somebody may read only now.
    private var ended: [Job] = []
    /// The sum of what those who may subscribe take at once.
    var mostAtOnce: () -> Int = { 0 }
    /// How many who subscribed in this life may be gone.
    var departed: () -> Int = { 0 }
    /// How many events the dispatcher has let go of by itself in this life.
    var lost: () -> Int = { 0 }
    /// How many events of it are counted as delivered in this life.
    var delivered: () -> Int = { 0 }
    /// The barrier of a client that closes the way beyond doubt.
    var closing: () -> String? = { nil }

    private let record: Record
    private let scheduler: any Scheduler
    private var charges: Charges
    private var order: OrderCheck
    /// How many workers in a row were lost with an event, and the most events that a batch with it may have since.
    private var losses: [SequenceNumber: Int] = [:]
    private var shares: [SequenceNumber: Int] = [:]

    /// What its dispatcher's settings promise.
    struct Terms {
        var dispatchLimit: Int
        var inFlight: Int
        let lease = Duration.seconds(2)
    }

    /// A batch on its way, and who has read it.
    private struct Job {
        let batch: Batch
        let begin: Instant
        var loans: [Loan] = []
    }

    init(_ lane: Lane, _ terms: Terms, _ record: Record, _ scheduler: any Scheduler) {
        self.lane = lane
        self.terms = terms
        self.record = record
        self.scheduler = scheduler
        charges = Charges(lane, record, .ofWorkers)
        order = OrderCheck(isWhole: terms.inFlight == 1)
    }

    func lifeEnded() {
        (jobs, ended) = ([], [])
        (losses, shares) = ([:], [:])
        charges = Charges(lane, record, .ofWorkers)
        order = OrderCheck(isWhole: terms.inFlight == 1)
    }

    var isIdle: Bool { jobs.isEmpty }

    // MARK: The dispatcher's end

    func began(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        record.note("\(lane.id) gives \(numbers)")
        record.expect(closing() == nil, "\(lane.id) gives \(numbers), and \(closing() ?? "") is closed")
        record.expect(numbers.count <= terms.dispatchLimit, "\(lane.id) gives a batch of \(numbers.count)")
        let bounds = numbers.compactMap { shares[$0] }
        let isHalf = bounds.count == numbers.count && numbers.count <= bounds.min() ?? 0
        record.expect(
            bounds.isEmpty || isHalf, "\(lane.id) gives \(numbers), whose workers were lost in larger batches")
        record.expect(jobs.count < terms.inFlight, "\(lane.id) gives more batches at once than it may")
        record.expect(jobs.count < mostAtOnce(), "\(lane.id) gives more than its workers take")
        for event in batch.events {
            lane.taken(event.sequenceNumber)
            charges.expect(event)
            let isThere = jobs.contains { $0.batch.events.contains { $0.sequenceNumber == event.sequenceNumber } }
            record.expect(!isThere, "\(lane.id) gives \(event.sequenceNumber) twice at once")
        }
        let complaint = order.complaint(
            of: batch.events, unfinished: lost() == 0 ? lane.waiting.subtracting(lane.damaged()) : [])
        record.expect(complaint == nil, "\(lane.id) gives \(complaint ?? "")")
        jobs.append(Job(batch: batch, begin: scheduler.now))
    }

    func ended(_ batch: Batch, _ result: SendResult, then: (SendResult) -> Void) {
        let before = delivered()
        then(result)
        record.note("\(lane.id) has \(batch.events.map(\.sequenceNumber)) \(result)")
        guard let place = jobs.firstIndex(where: { $0.batch.number == batch.number }) else {
            return record.expect(false, "\(lane.id) ends a batch twice")
        }
        let job = jobs.remove(at: place)
        ended.append(job)
        let isInTime = scheduler.now <= job.begin + terms.lease
        record.expect(isInTime, "\(lane.id) waits longer for a batch than a lease")
        switch result {
        case .delivered:
            settle(job, (before..<delivered()).map { _ in .delivered })
        case .each(let outcomes):
            record.count(.toldApart)
            settle(job, outcomes)
        case .lost(let cause):
            let isDue = scheduler.now >= job.begin + terms.lease || departed() > 0
            record.expect(isDue, "\(lane.id) has a batch back without need: \(cause)")
            lose(job)
        case .interrupted: break
        case .refused, .noAnswer, .returned, .unsendable: record.expect(false, "\(lane.id) has \(result) of a worker")
        }
    }

    /// A lost worker is charged, and from the third in a row on its batch goes in halves.
    private func lose(_ job: Job) {
        for event in job.batch.events {
            losses[event.sequenceNumber, default: 0] += 1
            if losses[event.sequenceNumber, default: 0] >= 3 {
                record.count(.workHalved)
                shares[event.sequenceNumber] = (job.batch.events.count + 1) / 2
            }
            charges.charge(event.sequenceNumber, at: scheduler.now)
        }
    }

    private func settle(_ job: Job, _ outcomes: [EventOutcome]) {
        let numbers = job.batch.events.map(\.sequenceNumber)
        let words = outcomes.map(WorkerWord.init)
        for number in numbers { (losses[number], shares[number]) = (nil, nil) }
        guard let loan = job.loans.last(where: { $0.answer == words && counts($0, job) }) else {
            return record.expect(
                false, "\(lane.id) has \(words) of \(numbers), which no worker answered in its time")
        }
        let answered = job.batch.events.filter { loan.ids.contains($0.plainId) }
        for (event, outcome) in zip(answered, outcomes) {
            charges.account(event.sequenceNumber, outcome, at: scheduler.now)
        }
    }

    /// True if a loan may be the one that counts: the lease is not over.
    private func counts(_ loan: Loan, _ job: Job) -> Bool {
        departed() > 0 || scheduler.now <= job.begin + terms.lease
    }

    // MARK: The workers' end

    /// A worker has read a batch. It may have ended already, and be on its way once more.
    func read(_ loan: Loan) {
        loan.mayHaveEnded = ended.contains { isAll(loan, of: $0) }
        guard let place = jobs.firstIndex(where: { isAll(loan, of: $0) }) else { return }
        let events = jobs[place].batch.events
        record.expect(events.map(\.plainId) == loan.ids, "\(lane.id) gives \(loan.ids) as another batch")
        if events.contains(where: { losses[$0.sequenceNumber] != nil }) { record.count(.workTakenOver) }
        jobs[place].loans.append(loan)
    }

    private func isAll(_ loan: Loan, of job: Job) -> Bool {
        job.batch.idempotencyKey == loan.batch && job.batch.attempt == loan.attempt
    }

    /// After how long a part of what somebody has read is too old, and the rest not; nil: never, or nobody waits for it.
    func timeUntilPartIsOver(_ loan: Loan) -> Duration? {
        guard let job = jobs.first(where: { $0.loans.contains { $0 === loan } }),
            let end = lane.ages.partEnds(of: job.batch.events.map(\.sequenceNumber))
        else { return nil }
        let wait = Duration.milliseconds(end - lane.ages.now)
        return scheduler.now + wait < job.begin + terms.lease ? wait : nil
    }

    /// Whether somebody who has read this is still waited for, beyond doubt.
    func isWaited(for loan: Loan) -> Bool {
        guard !loan.mayHaveEnded else { return false }
        let job = jobs.first { $0.loans.contains { $0 === loan } }
        return job.map { scheduler.now < $0.begin + terms.lease } ?? false
    }
}

/// What a worker has read, and what it has answered.
final class Loan {
    let client: Int
    let request: Int
    let batch: String
    let attempt: Int
    let ids: [String]
    let readAt: Instant
    var answer: [WorkerWord]?
    /// Whether what it looks like had ended before it was read.
    var mayHaveEnded = false
    /// Whether its worker hangs over it.
    var isHung = false
    /// Whether its worker has left since: it takes up no credit when that subscribes again.
    var isForgotten = false

    init?(_ params: DataObject, client: Int, request: Int, readAt: Instant) {
        guard let batch = params.get(key: "batch", as: String.self),
            let attempt = params.get(key: "attempt", as: Int.self),
            let events = params.getArray(key: "events", of: DataObject.self)
        else { return nil }
        ids = events.map { $0?.get(key: "id") ?? "" }
        (self.client, self.request, self.batch, self.attempt, self.readAt) = (client, request, batch, attempt, readAt)
    }
}

/// What a worker says of one event.
enum WorkerWord: String, CaseIterable {
    case delivered, retry, dead

    init(_ outcome: EventOutcome) {
        switch outcome {
        case .delivered, .duplicate: self = .delivered
        case .retry: self = .retry
        case .dead: self = .dead
        }
    }
}
