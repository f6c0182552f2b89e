/// The way out to one destination: what differs between kinds of dispatchers. All the rest (barriers, queue, retries,
/// dead letters) is the same for all. A program may bring its own (Behaviour K5).
///
/// All is called on the scheduler.
public protocol Sender: AnyObject {
    /// How the destination wants its events.
    var format: BatchFormat { get }
    /// What the destination can take now. One that says nothing takes whatever the settings allow; one that says more than
    /// before has ``Headgate/destinationHasRoom(_:)`` called.
    var capacity: SenderCapacity { get }
    /// Sends a batch; `then` is called on the scheduler with what came of it: exactly once, and never before `send` returns.
    ///
    /// Once the destination has answered, a sender does not send the batch again: what follows is the dispatcher's decision.
    func send(_ batch: Batch, then: @escaping (SendResult) -> Void)
    /// Gives up all that is in flight: each batch ends with `interrupted`, later.
    func interrupt()
    /// Lets go of connections and files. Nothing is in flight then.
    func close()
}

extension Sender {
    /// As much as the settings allow.
    public var capacity: SenderCapacity { SenderCapacity() }
}

/// How much a destination can take, beside what the settings of its dispatcher allow (Behaviour K3).
public struct SenderCapacity: Sendable, Equatable {
    /// The most batches that may be on their way at once, those that are included.
    public var batches: Int
    /// The most events that the next batch may have, at least one.
    public var events: Int
    /// True if the destination takes events one by one, and not batches. As many events may be in flight as `in_flight` full
    /// batches have, in as many smaller batches as that takes, so that nothing waits for the last event of a batch.
    public var isWindow = false
    /// True if the sender keeps the order of all that it is given, also of what fails and goes again: an event need not wait
    /// for an older one of its key that is in flight (Behaviour Q2).
    public var keepsOrder = false

    public init(batches: Int = .max, events: Int = .max, isWindow: Bool = false, keepsOrder: Bool = false) {
        self.batches = batches
        self.events = events
        self.isWindow = isWindow
        self.keepsOrder = keepsOrder
    }
}

/// What came of one attempt to send a batch.
public enum SendResult: Sendable, Equatable {
    /// The destination has it, and said so in a whole answer.
    case delivered
    /// The destination answered, and did not take the batch.
    case refused(Refusal)
    /// No whole answer came from the destination; the cause is in a few words for people, like `connection refused`.
    /// Charges no attempt (Behaviour D9). `retryAfter` is how long a proxy before the destination asked to wait.
    case noAnswer(cause: String, retryAfter: Duration? = nil)
    /// The worker that took the batch went away, or did not answer in time. Charges an attempt, and another worker gets the
    /// events (Behaviour K3).
    case lost(cause: String)
    /// The batch was not sent, because nobody can take it now. Charges no attempt.
    case returned(cause: String)
    /// No request can be made of this event, whatever the destination would say: the event is given up.
    case unsendable(cause: String)
    /// The destination told the events apart: what came of each, in the order of the batch (Behaviour K3, K4). One that
    /// has no outcome goes again.
    case each([EventOutcome])
    /// Given up because the dispatcher is being stopped.
    case interrupted

    /// True if the destination judged the events. An answer that only says that the destination is away or overloaded is
    /// none: such time is an outage (Behaviour D9).
    var isAnswer: Bool {
        switch self {
        case .delivered: true
        case .refused(let refusal): refusal.isCharged
        case .noAnswer, .lost, .returned, .unsendable, .interrupted: false
        case .each(let outcomes): outcomes.contains(where: \.isAnswer)
        }
    }

    /// Whether the destination does not accept who sends (Behaviour A9).
    var isUnauthorized: Bool {
        if case .refused(let refusal) = self { refusal.isUnauthorized } else { false }
    }

    /// Why the attempt failed, for people.
    var cause: String? {
        switch self {
        case .delivered, .interrupted: nil
        case .noAnswer(let cause, _), .lost(let cause), .returned(let cause), .unsendable(let cause): cause
        case .refused(let refusal): refusal.cause
        case .each(let outcomes): outcomes.lazy.compactMap(\.cause).first
        }
    }

    /// How long the destination, or a proxy before it, asked to wait.
    var retryAfter: Duration? {
        switch self {
        case .refused(let refusal): refusal.retryAfter
        case .noAnswer(_, let retryAfter): retryAfter
        default: nil
        }
    }

    /// A destination's answer that is no success.
    public struct Refusal: Sendable, Equatable {
        /// What it means for the events.
        public enum Meaning: Sendable {
            /// They are to be sent again.
            case again
            /// They will never be taken.
            case never
            /// They are too many, or one is too large (Behaviour D6).
            case tooLarge
            /// The dispatcher is not allowed to send, and is held until somebody sees to it (Behaviour D7).
            case notAllowed
        }

        public var meaning: Meaning
        /// In a few words for people, like `HTTP 503`.
        public var cause: String
        /// Whether the attempt counts (Behaviour D9).
        public var isCharged: Bool
        /// How long the destination asked to wait (Behaviour D5).
        public var retryAfter: Duration?
        /// Whether it is who sends that the destination does not accept: the board before the dispatcher runs again, and the
        /// events go once more before this is judged (Behaviour A9).
        public var isUnauthorized: Bool
        /// The destination's own code for it, where it has such codes, for those who look at dead letters.
        public var status: Int?
        /// The beginning of what the destination said, secrets blanked (Behaviour X4).
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

/// What came of one event of a batch, where the destination tells its events apart (Behaviour K3, K4).
public enum EventOutcome: Sendable, Hashable {
    /// The destination has it.
    case delivered
    /// The destination has it, and says that it had it before this attempt (Behaviour K4).
    case duplicate
    /// It is to be sent again. `cause` is in a few words for people, like `timed out`. `charged`: the destination
    /// answered, so the attempt counts (Behaviour D9).
    case retry(cause: String, charged: Bool)
    /// The destination will never take it. `cause` is in a few words for people, secrets blanked (Behaviour X4).
    case dead(DeadLetter.Reason, cause: String)
}

extension EventOutcome {
    /// True if the destination has the event.
    public var isDelivery: Bool { self == .delivered || self == .duplicate }

    /// Whether the destination said something of the event.
    var isAnswer: Bool {
        if case .retry(_, charged: false) = self { false } else { true }
    }

    /// Why the event was not taken.
    var cause: String? {
        switch self {
        case .delivered, .duplicate: nil
        case .retry(let cause, _), .dead(_, let cause): cause
        }
    }
}

extension Batch {
    /// The causes of an attempt's failure, each with the events that it failed for.
    func failures(_ result: SendResult) -> [(events: SequenceSet, cause: String)] {
        guard case .each(let outcomes) = result else { return result.cause.map { [(sequenceNumbers, $0)] } ?? [] }
        return parts(by: outcomes).compactMap { part in
            part.outcome.cause.map { (part.batch.sequenceNumbers, $0) }
        }
    }

    /// The events with the same outcome together, in the order of the first of each. One that nothing was said of goes
    /// again, as after no answer.
    func parts(by outcomes: [EventOutcome]) -> [(outcome: EventOutcome, batch: Batch)] {
        var places: [EventOutcome: Int] = [:]
        var parts: [(outcome: EventOutcome, batch: Batch)] = []
        for (index, event) in events.enumerated() {
            let outcome = index < outcomes.count ? outcomes[index] : .retry(cause: "no outcome", charged: false)
            let place = places[outcome, default: parts.count]
            if place == parts.count {
                places[outcome] = place
                var part = self
                part.events = []
                parts.append((outcome, part))
            }
            parts[place].batch.events.append(event)
        }
        return parts
    }
}

/// Senders that a change of settings replaced. Each finishes what it has on its way and is closed then, so that a reload
/// loses nothing and sends nothing twice (Behaviour S3).
struct RetiringSenders {
    private var waiting: [ObjectIdentifier: (sender: any Sender, batches: Int)] = [:]

    /// Retires a sender that has so many batches on their way.
    mutating func retire(_ sender: any Sender, batches: Int) {
        guard batches > 0 else { return sender.close() }
        waiting[ObjectIdentifier(sender)] = (sender, batches)
    }

    /// A batch of a sender, retired or not, has come to its end.
    mutating func finished(_ sender: ObjectIdentifier) {
        guard let entry = waiting[sender] else { return }
        waiting[sender] = entry.batches > 1 ? (entry.sender, entry.batches - 1) : nil
        if entry.batches == 1 { entry.sender.close() }
    }

    /// Batches that are on their way with retired senders.
    var batches: Int { waiting.values.reduce(0) { $0 + $1.batches } }

    /// Has all give up what is on its way.
    func interrupt() {
        for entry in waiting.values { entry.sender.interrupt() }
    }
}
