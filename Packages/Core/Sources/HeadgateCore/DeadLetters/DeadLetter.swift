import HeadgateData

/// An event that a dispatcher gave up, and why (Behaviour D10).
public struct DeadLetter: Sendable, Equatable {
    public var dispatcher: DispatcherNumber
    public var sequenceNumber: SequenceNumber
    public var reason: Reason
    /// The last status code of the destination, where it has such codes.
    public var status: Int?
    /// A piece of the destination's last answer.
    public var answer: String?
    /// The attempts that were charged (Behaviour D9), and the one after which the event was given up; 0 if the event was never
    /// sent.
    public var attempts: Int
    /// When the event failed for the first time since the start, by the wall clock.
    public var firstFailedAt: Timestamp
    /// When it was given up, by the wall clock.
    public var diedAt: Timestamp
    /// The event's record, as it lay in the queue: neither transformed nor annotated, so that it goes its whole way anew
    /// when it is requeued. Empty when a store found it damaged.
    public var record: [UInt8]

    /// Why an event is given up.
    public enum Reason: String, Sendable, CaseIterable {
        /// Alone over `byte_limit`, and failed (Behaviour D2).
        case oversize
        /// Too large for the destination though alone: refused with 413, by a NATS stream, or by a topic of Kafka (Behaviour D6,
        /// K4, K6).
        case tooLarge = "too_large"
        /// Refused with a status that is not retried (Behaviour D3).
        case refusedStatus = "refused_status"
        /// Failed where `retry_failed_requests` is false (Behaviour D3).
        case retriesOff = "retries_off"
        /// Tried `max_attempts` times (Behaviour D9).
        case maxAttempts = "max_attempts"
        /// Tried for `max_retry_age` (Behaviour D9).
        case maxRetryAge = "max_retry_age"
        /// A transformation failed whose `on_error` is `drop`; it was never sent (Behaviour P4).
        case transformation
        /// Refused by a worker, or by a topic of Kafka though alone (Behaviour K3, K6).
        case refused
        /// No request could be made of it: its URL would be longer than any that can be sent (Behaviour K1, method GET).
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
    /// The event; nil when its record is damaged.
    public var event: StoredEvent? {
        Chunk(bytes: record, lastSequenceNumber: sequenceNumber).event(at: 0)
    }
}

/// Counts a store's dead letters; they only grow and are never used twice.
public typealias LetterNumber = Int64

/// Which dead letters are meant, and how many of them (Behaviour D10).
public struct LetterQuery: Sendable, Equatable {
    /// Those of one dispatcher; nil is of all.
    public var dispatcher: DispatcherNumber?
    /// Those of these numbers, where they are there; nil is any.
    public var letters: Set<LetterNumber>?
    /// Those behind this one.
    public var after: LetterNumber = 0
    /// Those up to and including this one.
    public var through: LetterNumber = .max
    /// No more than so many; at least one.
    public var limit: Int

    public init(dispatcher: DispatcherNumber? = nil, letters: Set<LetterNumber>? = nil, limit: Int) {
        self.dispatcher = dispatcher
        self.letters = letters
        self.limit = limit
    }

    /// Whether a letter is meant, but for the limit.
    public func includes(_ letter: StoredLetter) -> Bool {
        letter.number > after && letter.number <= through
            && dispatcher.map { $0 == letter.letter.dispatcher } ?? true
            && letters.map { $0.contains(letter.number) } ?? true
    }
}

/// A dead letter under the number that its store gave it.
public struct StoredLetter: Sendable, Equatable {
    public var number: LetterNumber
    public var letter: DeadLetter

    public init(number: LetterNumber, letter: DeadLetter) {
        self.number = number
        self.letter = letter
    }
}

/// Some dead letters, the oldest first: as many as were asked for, or fewer where they are large.
public struct LetterPage: Sendable, Equatable {
    public private(set) var letters: [StoredLetter] = []
    /// Behind which letter there are more; nil when these are all.
    public private(set) var next: LetterNumber?
    /// The newest number that the store has given.
    public var newest: LetterNumber
    private var bytes = 0

    /// An empty page.
    public init(newest: LetterNumber) {
        self.newest = newest
    }

    /// Takes the next letter in if it has room.
    /// - Returns: false when it has none; the letter is the first of the next page.
    public mutating func take(_ letter: StoredLetter, _ query: LetterQuery) -> Bool {
        let size = letter.letter.shownByteCount
        guard letters.isEmpty || (letters.count < query.limit && bytes + size <= PageLimit.bytes) else {
            next = letters.last?.number
            return false
        }
        letters.append(letter)
        bytes += size
        return true
    }
}

extension DeadLetter {
    /// How many bytes it takes in an answer, at most.
    fileprivate var shownByteCount: Int {
        var text = JSONWriter()
        if let answer { text.string(answer) }
        return record.count + text.bytes.count + DeadLetter.mostWords
    }

    /// The most bytes of all else that is told of a letter: names, numbers and times.
    private static let mostWords = 384
}
