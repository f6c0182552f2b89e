import HeadgateData

/// An event that a dispatcher dead-lettered, with the reason (Behaviour D10).
public struct DeadLetter: Sendable, Equatable {
    public var dispatcher: DispatcherNumber
    public var sequenceNumber: SequenceNumber
    public var reason: Reason
    /// The last status code from the destination; nil if the destination has no status codes.
    public var status: Int?
    /// An excerpt of the destination's last answer.
    public var answer: String?
    /// The number of charged attempts (Behaviour D9), including the last one; 0 if the event was never sent.
    public var attempts: Int
    /// The wall-clock time of the event's first failure since the start.
    public var firstFailedAt: Timestamp
    /// The wall-clock time at which the event was dead-lettered.
    public var diedAt: Timestamp
    /// The event's record as it was in the queue, neither transformed nor annotated, so that all transformations are
    /// applied again after a requeue. The record is empty if a store found it damaged.
    public var record: [UInt8]

    /// The reason for dead-lettering an event.
    public enum Reason: String, Sendable, CaseIterable {
        /// The event alone exceeds `byte_limit`, and its attempt failed (Behaviour D2).
        case oversize
        /// The event alone is too large for the destination: the answer was 413, or a NATS stream or a Kafka topic
        /// refused it (Behaviour D6, K4, K6).
        case tooLarge = "too_large"
        /// The destination refused the event with a status that is not retried (Behaviour D3).
        case refusedStatus = "refused_status"
        /// The attempt failed, and `retry_failed_requests` is false (Behaviour D3).
        case retriesOff = "retries_off"
        /// The event was tried `max_attempts` times (Behaviour D9).
        case maxAttempts = "max_attempts"
        /// The event was tried for `max_retry_age` (Behaviour D9).
        case maxRetryAge = "max_retry_age"
        /// A transformation with `on_error: "drop"` failed. The event was never sent (Behaviour P4).
        case transformation
        /// A worker refused the event, or a Kafka topic refused it although it was sent alone (Behaviour K3, K6).
        case refused
        /// The event cannot be sent: its URL would exceed the longest that is possible (Behaviour K1, method GET).
        case unsendable
    }

    public init(
        dispatcher: DispatcherNumber, sequenceNumber: SequenceNumber, reason: Reason, status: Int?, answer: String?,
        attempts: Int, firstFailedAt: Timestamp, diedAt: Timestamp, record: [UInt8]
    ) {
        self.dispatcher = dispatcher
        self.sequenceNumber = sequenceNumber
        self.reason = reason
        self.status = status
        self.answer = answer
        self.attempts = attempts
        self.firstFailedAt = firstFailedAt
        self.diedAt = diedAt
        self.record = record
    }
}

extension DeadLetter {
    /// The event; nil if its record is damaged.
    public var event: StoredEvent? {
        Chunk(bytes: record, lastSequenceNumber: sequenceNumber).event(at: 0)
    }
}

/// The number of a dead letter in its store. Numbers only grow and are never reused.
public typealias DeadLetterNumber = Int64

/// A selection of dead letters (Behaviour D10).
public struct DeadLetterQuery: Sendable, Equatable {
    /// The dispatcher whose dead letters are selected; nil for all dispatchers.
    public var dispatcher: DispatcherNumber?
    /// The numbers of the selected dead letters, which may be gone; nil for any number.
    public var numbers: Set<DeadLetterNumber>?
    /// Dead letters up to this number are not selected.
    public var after: DeadLetterNumber = 0
    /// Dead letters after this number are not selected.
    public var through: DeadLetterNumber = .max
    /// The most dead letters to return or delete, at least one.
    public var limit: Int

    public init(dispatcher: DispatcherNumber? = nil, numbers: Set<DeadLetterNumber>? = nil, limit: Int) {
        self.dispatcher = dispatcher
        self.numbers = numbers
        self.limit = limit
    }

    /// Returns true if the query selects a dead letter. The limit is not considered.
    public func includes(_ stored: StoredDeadLetter) -> Bool {
        stored.number > after && stored.number <= through
            && dispatcher.map { $0 == stored.deadLetter.dispatcher } ?? true
            && numbers.map { $0.contains(stored.number) } ?? true
    }
}

/// A dead letter with the number that its store gave it.
public struct StoredDeadLetter: Sendable, Equatable {
    public var number: DeadLetterNumber
    public var deadLetter: DeadLetter

    public init(number: DeadLetterNumber, deadLetter: DeadLetter) {
        self.number = number
        self.deadLetter = deadLetter
    }
}

/// A page of dead letters, the oldest first. It has as many dead letters as requested, or fewer if they are large.
public struct StoredDeadLetterPage: Sendable, Equatable {
    public private(set) var deadLetters: [StoredDeadLetter] = []
    /// The number after which the next page begins; nil on the last page.
    public private(set) var next: DeadLetterNumber?
    /// The newest number that the store has assigned.
    public var newest: DeadLetterNumber
    private var bytes = 0

    /// Creates an empty page.
    public init(newest: DeadLetterNumber) {
        self.newest = newest
    }

    /// Adds a dead letter if it fits.
    /// - Returns: false if it does not fit, so that it is the first of the next page.
    public mutating func take(_ stored: StoredDeadLetter, _ query: DeadLetterQuery) -> Bool {
        let size = stored.deadLetter.shownByteCount
        guard deadLetters.isEmpty || (deadLetters.count < query.limit && bytes + size <= PageLimit.bytes) else {
            next = deadLetters.last?.number
            return false
        }
        deadLetters.append(stored)
        bytes += size
        return true
    }
}

extension DeadLetter {
    /// The most bytes that the dead letter takes in an answer.
    fileprivate var shownByteCount: Int {
        var text = JSONWriter()
        if let answer { text.string(answer) }
        return record.count + text.bytes.count + DeadLetter.mostOtherBytes
    }

    /// The most bytes of the dead letter's other members in an answer: names, numbers and times.
    private static let mostOtherBytes = 384
}
