/// The decision about a batch, or about some of its events, after an attempt. It follows the list in Behaviour D3, of
/// which the first match wins. The sender says what an answer of its destination means.
enum Verdict: Equatable {
    /// All events are delivered.
    case delivered
    /// All events are sent again. `charged` is true if the attempt is charged (Behaviour D9).
    case retry(cause: String, charged: Bool)
    /// The worker with the batch was lost: the attempt is charged, and another worker gets the events (Behaviour K3).
    case reassign(cause: String)
    /// All events are dead-lettered.
    case dead(DeadLetter.Reason)
    /// The batch was too large for the destination: halves are sent at once, and no attempt is charged (Behaviour D6).
    case halve
    /// The dispatcher is held until an operator resumes it (Behaviour D7).
    case hold(cause: String)
    /// The events are unchanged, because the dispatcher is being stopped.
    case keep

    /// Decides about a whole batch.
    /// - Parameters:
    ///   - result: the result of the attempt.
    ///   - events: the number of events in the batch.
    ///   - isOversize: true if the batch is a single event over `byte_limit` (Behaviour D2).
    ///   - settings: the dispatcher's settings.
    init(_ result: SendResult, events: Int, isOversize: Bool, settings: DispatcherSettings) {
        switch result {
        case .delivered, .partlyRejected: self = .delivered
        case .interrupted: self = .keep
        // The destination reported an outcome for each event, and each gets a verdict of its own.
        case .each: self = .keep
        // Only an answer can make an oversize event a dead letter (Behaviour D2).
        case .noAnswer(let cause, _):
            self = Verdict.withoutRetry(isOversize: false, settings) ?? .retry(cause: cause, charged: false)
        case .lost(let cause):
            self = Verdict.withoutRetry(isOversize: false, settings) ?? .reassign(cause: cause)
        case .returned(let cause): self = .retry(cause: cause, charged: false)
        case .unsendable: self = .dead(.unsendable)
        case .refused(let refusal):
            self = Verdict.withoutRetry(isOversize: isOversize, settings) ?? Verdict(refusal, events: events)
        }
    }

    /// Decides about one event, for a destination that reports on each event (Behaviour K3, K4).
    init(_ outcome: EventOutcome, isOversize: Bool, settings: DispatcherSettings) {
        switch outcome {
        case .delivered, .duplicate: self = .delivered
        case .retry(let cause, let charged):
            let isJudged = isOversize && outcome.isAnswer
            self = Verdict.withoutRetry(isOversize: isJudged, settings) ?? .retry(cause: cause, charged: charged)
        case .dead(let reason, _):
            self = Verdict.withoutRetry(isOversize: isOversize, settings) ?? .dead(reason)
        }
    }

    private init(_ refusal: SendResult.Refusal, events: Int) {
        switch refusal.meaning {
        case .again: self = .retry(cause: refusal.cause, charged: refusal.isCharged)
        case .never: self = .dead(.refusedStatus)
        case .tooLarge: self = events > 1 ? .halve : .dead(.tooLarge)
        case .notAllowed: self = .hold(cause: refusal.cause)
        }
    }

    private static func withoutRetry(isOversize: Bool, _ settings: DispatcherSettings) -> Verdict? {
        if !settings.retryFailedRequests { return .dead(.retriesOff) }
        return isOversize ? .dead(.oversize) : nil
    }
}

/// The last answer to an event, for its dead letter (Behaviour D10).
struct LastAnswer {
    /// The destination's status code; nil if it has no codes.
    var status: Int?
    /// An excerpt of the destination's answer, or the cause of the failure.
    var text: String?
    /// The cause of the failure, for the log; nil if there is none.
    var cause: String?
    /// False if the event was never sent, so that no attempt is charged.
    var wasSent = true

    /// Creates a value for an event that a fault kept from being sent.
    init(unsent fault: String) {
        (text, cause, wasSent) = (fault, fault, false)
    }

    init(_ result: SendResult) {
        cause = result.cause
        switch result {
        case .refused(let refusal): (status, text) = (refusal.status, refusal.answer)
        case .lost(let cause): text = cause
        case .unsendable(let cause): (text, wasSent) = (cause, false)
        case .delivered, .partlyRejected, .noAnswer, .returned, .each, .interrupted: break
        }
    }

    init(_ outcome: EventOutcome) {
        (text, cause) = (outcome.cause, outcome.cause)
    }
}
