import HeadgateCore

/// A destination that writes down what it is sent, and answers as the test says: one batch after the other with
/// ``answer(_:to:)``, or by itself with ``reply``.
public final class RecordingSender: Sender {
    public let format: BatchFormat
    /// What it says that it can take.
    public var capacity = SenderCapacity()
    /// Every batch, in the order sent.
    public private(set) var batches: [Batch] = []
    /// Every batch with what came of it, in the order answered.
    public private(set) var answered: [(batch: Batch, result: SendResult)] = []
    /// Answers each batch in the turn after; nil from it, or no `reply`, leaves the batch to the test.
    public var reply: ((Batch) -> SendResult?)?
    /// How often all that was in flight was given up.
    public private(set) var interruptions = 0
    public private(set) var isClosed = false

    private let scheduler: any Scheduler
    private var waiting: [(batch: Batch, then: (SendResult) -> Void)] = []

    public init(scheduler: any Scheduler, format: BatchFormat = .jsonArray, reply: ((Batch) -> SendResult?)? = nil) {
        self.scheduler = scheduler
        self.format = format
        self.reply = reply
    }

    /// Batches without an answer, the oldest first.
    public var outstanding: [Batch] { waiting.map(\.batch) }

    /// The sequence numbers of every batch's events.
    public var sent: [[SequenceNumber]] { batches.map { $0.events.map(\.sequenceNumber) } }

    /// The sequence numbers of what was delivered, in the order in which it was.
    public var delivered: [SequenceNumber] {
        answered.flatMap { batch, result -> [SequenceNumber] in
            switch result {
            case .delivered: batch.events.map(\.sequenceNumber)
            case .each(let outcomes):
                zip(batch.events, outcomes).filter(\.1.isDelivery).map(\.0.sequenceNumber)
            case .refused, .noAnswer, .lost, .returned, .unsendable, .interrupted: []
            }
        }
    }

    public func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        batches.append(batch)
        waiting.append((batch, then))
        guard let result = reply?(batch) else { return }
        scheduler.soon { [weak self] in self?.answer(result, to: batch.number) }
    }

    /// Answers the oldest batch, or the one of this number. One that is not waiting is left alone.
    public func answer(_ result: SendResult = .delivered, to number: Int? = nil) {
        guard let index = waiting.firstIndex(where: { number == nil || $0.batch.number == number }) else { return }
        let (batch, then) = waiting.remove(at: index)
        answered.append((batch, result))
        then(result)
    }

    /// Whether it goes on with what is in flight when it is told to give up.
    public var isDeaf = false

    public func interrupt() {
        interruptions += 1
        guard !isDeaf else { return }
        for number in outstanding.map(\.number) {
            scheduler.soon { [weak self] in self?.answer(.interrupted, to: number) }
        }
    }

    public func close() {
        isClosed = true
    }
}

extension SendResult {
    /// A refusal of a destination that has codes, like HTTP's.
    /// - Parameter meaning: nil: what the code usually means there (Behaviour D3).
    public static func status(
        _ status: Int, _ meaning: Refusal.Meaning? = nil, retryAfter: Duration? = nil
    ) -> SendResult {
        let isFinal = [400, 401, 403, 410, 422].contains(status)
        let outage: Set<Int> = [408, 413, 429, 502, 503, 504]
        let usual: Refusal.Meaning = status == 413 ? .tooLarge : isFinal ? .never : .again
        return .refused(
            Refusal(
                meaning ?? usual, cause: "HTTP \(status)", isCharged: !outage.contains(status), retryAfter: retryAfter,
                isUnauthorized: status == 401, status: status))
    }
}
