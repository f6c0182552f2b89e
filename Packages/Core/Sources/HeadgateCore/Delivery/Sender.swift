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
    /// The destination answered with a status that is no success.
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
        if case .refused(let refusal) = self { refusal.status == 401 } else { false }
    }

    /// Why the attempt failed, for people.
    var cause: String? {
        switch self {
        case .delivered, .interrupted: nil
        case .noAnswer(let cause), .returned(let cause): cause
        case .refused(let refusal): "HTTP \(refusal.status)"
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
        public var status: Int
        /// How long the destination asked to wait (Behaviour D5).
        public var retryAfter: Duration?
        /// The beginning of the answer's body, secrets blanked (Behaviour X4).
        public var answer: String?

        public init(status: Int, retryAfter: Duration? = nil, answer: String? = nil) {
            self.status = status
            self.retryAfter = retryAfter
            self.answer = answer
        }
    }
}
