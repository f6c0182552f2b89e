/// The way out to one destination: what differs between kinds of dispatchers. All the rest (barriers, queue, retries,
/// dead letters) is the same for all. A program may bring its own (Behaviour K5).
///
/// All is called on the worker.
public protocol Sender: AnyObject {
    /// How the destination wants its events.
    var format: BatchFormat { get }
    /// What the destination can take now. One that says nothing takes whatever the settings allow; one that says more than
    /// before has ``Headgate/destinationHasRoom(_:)`` called.
    var capacity: SenderCapacity { get }
    /// Sends a batch; `then` is called on the worker with what came of it: exactly once, and never before `send` returns.
    ///
    /// One that is ``Batch/isOversize`` must not be tried again on the way, not even by a library (Behaviour D2). It is no
    /// second try when one who took it went away without a word and it is given to another (Behaviour K3). Before a batch
    /// is given to another, ``Headgate/recheck(_:of:)`` says what of it may still go.
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

    public init(batches: Int = .max, events: Int = .max) {
        self.batches = batches
        self.events = events
    }
}

/// What came of one attempt to send a batch.
public enum SendResult: Sendable, Equatable {
    /// The destination has it, and said so in a whole answer.
    case delivered
    /// The destination answered, and did not take the batch.
    case refused(Refusal)
    /// No whole answer came; the cause is in a few words for people, like `connection refused`. Charges no attempt
    /// (Behaviour D9).
    case noAnswer(cause: String)
    /// Who took it went away, or was silent for too long, and there is nobody to give it to now. Nothing was said of the
    /// events, so they go again, also one that is oversize. Charges no attempt (Behaviour K3).
    case returned(cause: String)
    /// The destination told the events apart: what came of each, in the order of the batch (Behaviour K3, K4). One that
    /// has no outcome goes again.
    case each([EventOutcome])
    /// Given up because the dispatcher is being stopped.
    case interrupted

    /// Whether the destination said something of the events: what it said may charge an attempt (Behaviour D9).
    var isAnswer: Bool {
        switch self {
        case .delivered, .refused: true
        case .noAnswer, .returned, .interrupted: false
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
        case .noAnswer(let cause), .returned(let cause): cause
        case .refused(let refusal): refusal.cause
        case .each(let outcomes): outcomes.lazy.compactMap(\.cause).first
        }
    }

    /// How long the destination asked to wait.
    var retryAfter: Duration? {
        guard case .refused(let refusal) = self else { return nil }
        return refusal.retryAfter
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
