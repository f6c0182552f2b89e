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
    /// Attempts that were charged, the last included if it was: a network error and a 413 charge none (Behaviour D9).
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
        /// Too large for the destination though alone: refused with 413, or by a NATS stream (Behaviour D6, K4).
        case tooLarge = "too_large"
        /// Refused with a status that is not retried (Behaviour D3).
        case refusedStatus = "refused_status"
        /// Failed where `retry_failed_requests` is false (Behaviour D3).
        case retriesOff = "retries_off"
        /// Tried `max_attempts` times (Behaviour D9).
        case maxAttempts = "max_attempts"
        /// Tried for `max_retry_age` (Behaviour D9).
        case maxRetryAge = "max_retry_age"
        /// Refused by a worker (Behaviour K3).
        case refused
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
