import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// The batches held by the workers of one dispatcher, and a model of their outcomes (Behaviour K3).
final class WorkerWitness: SenderWitness {
    let queue: QueueModel
    let terms: Terms
    /// Batches that workers have read and that have not ended.
    private var jobs: [Job] = []
    /// Batches that have ended, but may still be read by a worker.
    private var ended: [Job] = []
    /// The total credit of the workers that may be subscribed.
    var mostAtOnce: () -> Int = { 0 }
    /// The number of workers that may have left in this life.
    var departed: () -> Int = { 0 }
    /// The number of events that the dispatcher expired or evicted in this life.
    var lost: () -> Int = { 0 }
    /// The number of events counted as delivered in this life.
    var delivered: () -> Int = { 0 }
    /// A client's barrier that certainly blocks the dispatcher.
    var closing: () -> String? = { nil }

    private let record: Record
    private let scheduler: any Scheduler
    private var charges: Charges
    private var order: OrderCheck
    /// Per event, the workers lost in a row, and the largest batch that the event may be part of since then.
    private var losses: [SequenceNumber: Int] = [:]
    private var shares: [SequenceNumber: Int] = [:]

    /// The settings promised to the workers.
    struct Terms {
        var dispatchLimit: Int
        var inFlight: Int
        let lease = Duration.seconds(2)
    }

    /// A batch in flight, and the workers that have read it.
    private struct Job {
        let batch: Batch
        let begin: Instant
        var leases: [Lease] = []
    }

    init(_ queue: QueueModel, _ terms: Terms, _ record: Record, _ scheduler: any Scheduler) {
        self.queue = queue
        self.terms = terms
        self.record = record
        self.scheduler = scheduler
        charges = Charges(queue, record, .ofWorkers)
        order = OrderCheck(isWhole: terms.inFlight == 1)
    }

    func lifeEnded() {
        (jobs, ended) = ([], [])
        (losses, shares) = ([:], [:])
        charges = Charges(queue, record, .ofWorkers)
        order = OrderCheck(isWhole: terms.inFlight == 1)
    }

    var isIdle: Bool { jobs.isEmpty }

    // MARK: The dispatcher's end

    func began(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        record.note("\(queue.id) gives \(numbers)")
        record.expect(closing() == nil, "\(queue.id) sends \(numbers) while \(closing() ?? "") is closed")
        record.expect(numbers.count <= terms.dispatchLimit, "\(queue.id) sends a batch of \(numbers.count)")
        let bounds = numbers.compactMap { shares[$0] }
        let isHalf = bounds.count == numbers.count && numbers.count <= bounds.min() ?? 0
        record.expect(
            bounds.isEmpty || isHalf, "\(queue.id) sends \(numbers) again without halving the batch")
        record.expect(jobs.count < terms.inFlight, "\(queue.id) exceeds its limit of batches in flight")
        record.expect(jobs.count < mostAtOnce(), "\(queue.id) exceeds the credit of its workers")
        for event in batch.events {
            queue.taken(event.sequenceNumber)
            charges.expect(event)
            let isThere = jobs.contains { $0.batch.events.contains { $0.sequenceNumber == event.sequenceNumber } }
            record.expect(!isThere, "\(queue.id) sends \(event.sequenceNumber) twice at once")
        }
        let problem = order.problem(
            of: batch.events, unfinished: lost() == 0 ? queue.waiting.subtracting(queue.damaged()) : [])
        record.expect(problem == nil, "\(queue.id) gives \(problem ?? "")")
        jobs.append(Job(batch: batch, begin: scheduler.now))
    }

    func ended(_ batch: Batch, _ result: SendResult, then: (SendResult) -> Void) {
        let before = delivered()
        then(result)
        record.note("\(queue.id) has \(batch.events.map(\.sequenceNumber)) \(result)")
        guard let index = jobs.firstIndex(where: { $0.batch.number == batch.number }) else {
            return record.expect(false, "\(queue.id) ends a batch twice")
        }
        let job = jobs.remove(at: index)
        ended.append(job)
        let isInTime = scheduler.now <= job.begin + terms.lease
        record.expect(isInTime, "\(queue.id) waits longer for a batch than a lease")
        switch result {
        case .delivered:
            settle(job, (before..<delivered()).map { _ in .delivered })
        case .each(let outcomes):
            record.count(.distinguished)
            settle(job, outcomes)
        case .lost(let cause):
            let isDue = scheduler.now >= job.begin + terms.lease || departed() > 0
            record.expect(isDue, "\(queue.id) retries a batch without need: \(cause)")
            lose(job)
        case .interrupted: break
        case .partlyRejected, .refused, .noAnswer, .returned, .unsendable:
            record.expect(false, "\(queue.id) gets \(result) from a worker")
        }
    }

    /// Records a lost worker, which is charged. From the third loss in a row the batch is halved.
    private func lose(_ job: Job) {
        for event in job.batch.events {
            losses[event.sequenceNumber, default: 0] += 1
            if losses[event.sequenceNumber, default: 0] >= 3 {
                record.count(.workHalved)
                shares[event.sequenceNumber] = (job.batch.events.count + 1) / 2
            }
            charges.lost(event.sequenceNumber, inBatchOf: job.batch.events.count, at: scheduler.now)
        }
    }

    private func settle(_ job: Job, _ outcomes: [EventOutcome]) {
        let numbers = job.batch.events.map(\.sequenceNumber)
        let words = outcomes.map(WorkerWord.init)
        for number in numbers { (losses[number], shares[number]) = (nil, nil) }
        guard let lease = job.leases.last(where: { $0.answer == words && counts($0, job) }) else {
            return record.expect(
                false, "\(queue.id) has \(words) of \(numbers), which no worker answered in time")
        }
        let answered = job.batch.events.filter { lease.ids.contains($0.plainId) }
        for (event, outcome) in zip(answered, outcomes) {
            charges.account(event.sequenceNumber, outcome, at: scheduler.now)
        }
    }

    /// Returns true if an answer to the lease may count, since the lease has not ended.
    private func counts(_ lease: Lease, _ job: Job) -> Bool {
        departed() > 0 || scheduler.now <= job.begin + terms.lease
    }

    // MARK: The workers' end

    /// Records that a worker has read a batch. The batch may have ended already and be in flight again.
    func read(_ lease: Lease) {
        lease.mayHaveEnded = ended.contains { isAll(lease, of: $0) }
        guard let index = jobs.firstIndex(where: { isAll(lease, of: $0) }) else { return }
        let events = jobs[index].batch.events
        record.expect(events.map(\.plainId) == lease.ids, "\(queue.id) sends \(lease.ids) with other events")
        if events.contains(where: { losses[$0.sequenceNumber] != nil }) { record.count(.workTakenOver) }
        jobs[index].leases.append(lease)
    }

    private func isAll(_ lease: Lease, of job: Job) -> Bool {
        job.batch.idempotencyKey == lease.batch && job.batch.attempt == lease.attempt
    }

    /// Returns the time until part of a batch expires while the rest does not, or nil if that never happens or the
    /// batch is not awaited.
    func timeUntilPartIsOver(_ lease: Lease) -> Duration? {
        guard let job = jobs.first(where: { $0.leases.contains { $0 === lease } }),
            let end = queue.ages.partEnds(of: job.batch.events.map(\.sequenceNumber))
        else { return nil }
        let wait = Duration.milliseconds(end - queue.ages.now)
        return scheduler.now + wait < job.begin + terms.lease ? wait : nil
    }

    /// Returns true if the answer to a lease is certainly still awaited.
    func isWaited(for lease: Lease) -> Bool {
        guard !lease.mayHaveEnded else { return false }
        let job = jobs.first { $0.leases.contains { $0 === lease } }
        return job.map { scheduler.now < $0.begin + terms.lease } ?? false
    }
}

/// A batch that a worker has read, with the worker's answer.
final class Lease {
    let client: Int
    let request: Int
    let batch: String
    let attempt: Int
    let ids: [String]
    let readAt: Instant
    var answer: [WorkerWord]?
    /// True if an equal batch had ended before this one was read.
    var mayHaveEnded = false
    /// True if its worker does not answer in time.
    var isHung = false
    /// True if its worker has unsubscribed since, so that the batch no longer counts against the worker's credit.
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

/// A worker's outcome of one event.
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
