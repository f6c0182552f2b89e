import HeadgateCore

/// A destination that records the batches it gets. A test answers each one with ``answer(_:to:)``, or the sender
/// answers by itself with ``reply``.
public final class RecordingSender: Sender {
    public let format: BatchFormat
    /// The capacity that the sender reports.
    public var capacity = SenderCapacity()
    /// All batches in the order in which they were sent.
    public private(set) var batches: [Batch] = []
    /// All answered batches with their results, in the order of the answers.
    public private(set) var answered: [(batch: Batch, result: SendResult)] = []
    /// The closure that answers each batch, in the turn after the batch was sent. If it is nil or returns nil, the test
    /// answers.
    public var reply: ((Batch) -> SendResult?)?
    /// The number of interruptions.
    public private(set) var interruptions = 0
    public private(set) var isClosed = false

    private let scheduler: any Scheduler
    private var waiting: [(batch: Batch, then: (SendResult) -> Void)] = []

    public init(scheduler: any Scheduler, format: BatchFormat = .jsonArray, reply: ((Batch) -> SendResult?)? = nil) {
        self.scheduler = scheduler
        self.format = format
        self.reply = reply
    }

    /// The batches without an answer, the oldest first.
    public var outstanding: [Batch] { waiting.map(\.batch) }

    /// The sequence numbers of each batch's events.
    public var sent: [[SequenceNumber]] { batches.map { $0.events.map(\.sequenceNumber) } }

    /// The sequence numbers of delivered events, in the order of their delivery.
    public var delivered: [SequenceNumber] {
        answered.flatMap { batch, result -> [SequenceNumber] in
            switch result {
            case .delivered, .partlyRejected: batch.events.map(\.sequenceNumber)
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

    /// Answers the oldest batch, or the one with a number. Does nothing if that batch is not waiting for an answer.
    public func answer(_ result: SendResult = .delivered, to number: Int? = nil) {
        guard let index = waiting.firstIndex(where: { number == nil || $0.batch.number == number }) else { return }
        let (batch, then) = waiting.remove(at: index)
        answered.append((batch, result))
        then(result)
    }

    /// True if the sender ignores interruptions.
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
    /// Returns the refusal of a destination with status codes like HTTP's.
    /// - Parameter meaning: the meaning of the code; nil for the usual one (Behaviour D3).
    public static func status(
        _ status: Int, _ meaning: Refusal.Meaning? = nil, retryAfter: Duration? = nil
    ) -> SendResult {
        let isFinal = [400, 401, 403, 410, 422].contains(status)
        let outage: Set<Int> = [408, 413, 429, 502, 503, 504]
        let defaultMeaning: Refusal.Meaning = status == 413 ? .tooLarge : isFinal ? .never : .again
        return .refused(
            Refusal(
                meaning ?? defaultMeaning, cause: "HTTP \(status)", isCharged: !outage.contains(status),
                retryAfter: retryAfter,
                isUnauthorized: status == 401, status: status))
    }
}
