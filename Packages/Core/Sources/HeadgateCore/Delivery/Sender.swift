/// A type that sends batches to one destination. A sender contains what differs between the kinds of dispatchers;
/// barriers, queue, retries and dead letters are the same for all. A program may provide its own (Behaviour K5).
///
/// All functions are called on the scheduler.
public protocol Sender: AnyObject {
    /// The format in which the destination gets its events.
    var format: BatchFormat { get }
    /// The present capacity of the destination. The default is no limit beyond the settings. A sender whose capacity
    /// has grown calls ``Headgate/destinationHasRoom(_:)``.
    var capacity: SenderCapacity { get }
    /// Sends a batch. `then` is called on the scheduler with the result, exactly once, after `send` has returned.
    ///
    /// After an answer of the destination the sender does not send the batch again: the dispatcher decides about
    /// retries.
    func send(_ batch: Batch, then: @escaping (SendResult) -> Void)
    /// Interrupts all batches in flight. Each ends later with the result `interrupted`.
    func interrupt()
    /// Closes connections and files. It is called when nothing is in flight.
    func close()
}

extension Sender {
    /// The default: no limit beyond the settings.
    public var capacity: SenderCapacity { SenderCapacity() }
}

/// The capacity of a destination, in addition to the limits in the settings of its dispatcher (Behaviour K3).
public struct SenderCapacity: Sendable, Equatable {
    /// The most batches in flight, including those that are in flight now.
    public var batches: Int
    /// The most events in the next batch, at least one.
    public var events: Int
    /// True if the destination takes events one by one, and not in batches. As many events as in `in_flight` full
    /// batches may then be in flight, in smaller batches. No event thus waits for the last one of a large batch.
    public var isWindow = false
    /// True if the sender keeps the order of all its events, including those that failed and are sent again. An event
    /// then need not wait for an older one of its key that is in flight (Behaviour Q2).
    public var keepsOrder = false

    public init(batches: Int = .max, events: Int = .max, isWindow: Bool = false, keepsOrder: Bool = false) {
        self.batches = batches
        self.events = events
        self.isWindow = isWindow
        self.keepsOrder = keepsOrder
    }
}

/// The result of one attempt to send a batch.
public enum SendResult: Sendable, Equatable {
    /// The destination accepted the batch in a complete answer.
    case delivered
    /// The destination accepted the batch but for some events, and did not say which ones. None is sent again. `message`
    /// is the destination's reason, for people, with secrets removed (Behaviour K7).
    case partlyRejected(events: Int, message: String)
    /// The destination answered and did not accept the batch.
    case refused(Refusal)
    /// No complete answer arrived. `cause` is a short text for people, like `connection refused`. No attempt is charged
    /// (Behaviour D9). `retryAfter` is a time that a proxy in front of the destination requested.
    case noAnswer(cause: String, retryAfter: Duration? = nil)
    /// The worker with the batch disconnected or did not answer in time. An attempt is charged, and another worker gets
    /// the events (Behaviour K3).
    case lost(cause: String)
    /// The batch was not sent, because no destination can take it at present. No attempt is charged.
    case returned(cause: String)
    /// The event cannot be sent in any request. It is dead-lettered.
    case unsendable(cause: String)
    /// The destination reported an outcome for each event, in the order of the batch (Behaviour K3, K4). An event
    /// without an outcome is sent again.
    case each([EventOutcome])
    /// The batch was interrupted because the dispatcher is being stopped.
    case interrupted

    /// True if the destination judged the events. An answer that only says that the destination is unavailable or
    /// overloaded is not counted: such time is an outage (Behaviour D9).
    var isAnswer: Bool {
        switch self {
        case .delivered, .partlyRejected: true
        case .refused(let refusal): refusal.isCharged
        case .noAnswer, .lost, .returned, .unsendable, .interrupted: false
        case .each(let outcomes): outcomes.contains(where: \.isAnswer)
        }
    }

    /// True if the destination does not accept the sender's credentials (Behaviour A9).
    var isUnauthorized: Bool {
        if case .refused(let refusal) = self { refusal.isUnauthorized } else { false }
    }

    /// The cause of a failed attempt, for people; nil for other results.
    var cause: String? {
        switch self {
        case .delivered, .partlyRejected, .interrupted: nil
        case .noAnswer(let cause, _), .lost(let cause), .returned(let cause), .unsendable(let cause): cause
        case .refused(let refusal): refusal.cause
        case .each(let outcomes): outcomes.lazy.compactMap(\.cause).first
        }
    }

    /// The wait that the destination, or a proxy in front of it, requested.
    var retryAfter: Duration? {
        switch self {
        case .refused(let refusal): refusal.retryAfter
        case .noAnswer(_, let retryAfter): retryAfter
        default: nil
        }
    }

    /// An answer of a destination that is not a success.
    public struct Refusal: Sendable, Equatable {
        /// The meaning of a refusal for the events.
        public enum Meaning: Sendable {
            /// The events are to be sent again.
            case again
            /// The events will never be accepted.
            case never
            /// The events are too many, or one event is too large (Behaviour D6).
            case tooLarge
            /// The dispatcher is not allowed to send, and is held until an operator acts (Behaviour D7).
            case notAllowed
        }

        public var meaning: Meaning
        /// A short text for people, like `HTTP 503`.
        public var cause: String
        /// True if the attempt is charged (Behaviour D9).
        public var isCharged: Bool
        /// The wait that the destination requested (Behaviour D5).
        public var retryAfter: Duration?
        /// True if the destination does not accept the sender's credentials. The board before the dispatcher is run
        /// again, and the events are sent another time before the refusal applies (Behaviour A9).
        public var isUnauthorized: Bool
        /// The destination's own status code, shown with dead letters; nil if it has no codes.
        public var status: Int?
        /// The beginning of the destination's answer, with secrets removed (Behaviour X4).
        public var answer: String?

        public init(
            _ meaning: Meaning, cause: String, isCharged: Bool = true, retryAfter: Duration? = nil,
            isUnauthorized: Bool = false, status: Int? = nil, answer: String? = nil
        ) {
            self.meaning = meaning
            self.cause = cause
            self.isCharged = isCharged
            self.retryAfter = retryAfter
            self.isUnauthorized = isUnauthorized
            self.status = status
            self.answer = answer
        }
    }
}

/// The outcome of one event of a batch, from a destination that reports on each event (Behaviour K3, K4).
public enum EventOutcome: Sendable, Hashable {
    /// The destination accepted the event.
    case delivered
    /// The destination says that it had the event before this attempt (Behaviour K4).
    case duplicate
    /// The event is to be sent again. `cause` is a short text for people, like `timed out`. `charged` is true if the
    /// destination answered, so that the attempt is charged (Behaviour D9).
    case retry(cause: String, charged: Bool)
    /// The destination will never accept the event. `cause` is a short text for people, with secrets removed (Behaviour
    /// X4).
    case dead(DeadLetter.Reason, cause: String)
}

extension EventOutcome {
    /// True if the destination has the event.
    public var isDelivery: Bool { self == .delivered || self == .duplicate }

    /// True if the destination answered for the event.
    var isAnswer: Bool {
        if case .retry(_, charged: false) = self { false } else { true }
    }

    /// The cause of a failure, for people; nil for a delivery.
    var cause: String? {
        switch self {
        case .delivered, .duplicate: nil
        case .retry(let cause, _), .dead(_, let cause): cause
        }
    }
}

extension Batch {
    /// Returns the causes of a failed attempt, each with the events that it applies to.
    func failures(_ result: SendResult) -> [(events: SequenceSet, cause: String)] {
        guard case .each(let outcomes) = result else { return result.cause.map { [(sequenceNumbers, $0)] } ?? [] }
        return parts(by: outcomes).compactMap { part in
            part.outcome.cause.map { (part.batch.sequenceNumbers, $0) }
        }
    }

    /// Groups the events by outcome, in the order of the first event of each group. An event without an outcome is sent
    /// again, as after no answer.
    func parts(by outcomes: [EventOutcome]) -> [(outcome: EventOutcome, batch: Batch)] {
        var indexes: [EventOutcome: Int] = [:]
        var parts: [(outcome: EventOutcome, batch: Batch)] = []
        for (index, event) in events.enumerated() {
            let outcome = index < outcomes.count ? outcomes[index] : .retry(cause: "no outcome", charged: false)
            let part = indexes[outcome, default: parts.count]
            if part == parts.count {
                indexes[outcome] = part
                var batch = self
                batch.events = []
                parts.append((outcome, batch))
            }
            parts[part].batch.events.append(event)
        }
        return parts
    }
}

/// Senders that a change of settings replaced. Each finishes its batches in flight and is then closed, so that a reload
/// loses nothing and sends nothing twice (Behaviour S3).
struct RetiringSenders {
    private var waiting: [ObjectIdentifier: (sender: any Sender, batches: Int)] = [:]

    /// Retires a sender that has this number of batches in flight.
    mutating func retire(_ sender: any Sender, batches: Int) {
        guard batches > 0 else { return sender.close() }
        waiting[ObjectIdentifier(sender)] = (sender, batches)
    }

    /// Records the end of a batch. The sender may be one that is not retired.
    mutating func finished(_ sender: ObjectIdentifier) {
        guard let entry = waiting[sender] else { return }
        waiting[sender] = entry.batches > 1 ? (entry.sender, entry.batches - 1) : nil
        if entry.batches == 1 { entry.sender.close() }
    }

    /// The number of batches in flight with retired senders.
    var batches: Int { waiting.values.reduce(0) { $0 + $1.batches } }

    /// Interrupts the batches of all retired senders.
    func interrupt() {
        for entry in waiting.values { entry.sender.interrupt() }
    }
}
