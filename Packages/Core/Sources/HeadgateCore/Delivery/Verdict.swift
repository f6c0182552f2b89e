/// What is to be done with a batch, or with some of its events, after an attempt: what Behaviour D3 says of all kinds of
/// destinations, first match wins. What a destination's answer means its sender says.
enum Verdict: Equatable {
    /// All events are delivered.
    case delivered
    /// All events wait and are sent again. `charged`: the attempt counts (Behaviour D9).
    case retry(cause: String, charged: Bool)
    /// The worker that had the batch is lost: the attempt counts, and another worker gets the events (Behaviour K3).
    case reassign(cause: String)
    /// All events are dead.
    case dead(DeadLetter.Reason)
    /// The batch was too large for the destination: halves are sent at once, no attempt charged (Behaviour D6).
    case halve
    /// The dispatcher is held until an operator resumes it (Behaviour D7).
    case hold(cause: String)
    /// The events stay as they were: the dispatcher is being stopped.
    case keep

    /// - Parameters:
    ///   - events: how many events the batch had.
    ///   - isOversize: whether the batch is one event that is over `byte_limit` (Behaviour D2).
    init(_ result: SendResult, events: Int, isOversize: Bool, settings: DispatcherSettings) {
        switch result {
        case .delivered: self = .delivered
        case .interrupted: self = .keep
        // Such a result has a verdict for each event.
        case .each: self = .keep
        // The size of an event is judged by an answer alone (Behaviour D2).
        case .noAnswer(let cause, _):
            self = Verdict.giveUp(isOversize: false, settings) ?? .retry(cause: cause, charged: false)
        case .lost(let cause): self = Verdict.giveUp(isOversize: false, settings) ?? .reassign(cause: cause)
        case .returned(let cause): self = .retry(cause: cause, charged: false)
        case .unsendable: self = .dead(.unsendable)
        case .refused(let refusal):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? Verdict(refusal, events: events)
        }
    }

    /// What is to be done with one event, of a destination that tells them apart (Behaviour K3, K4).
    init(_ outcome: EventOutcome, isOversize: Bool, settings: DispatcherSettings) {
        switch outcome {
        case .delivered, .duplicate: self = .delivered
        case .retry(let cause, let charged):
            let isJudged = isOversize && outcome.isAnswer
            self = Verdict.giveUp(isOversize: isJudged, settings) ?? .retry(cause: cause, charged: charged)
        case .dead(let reason, _):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? .dead(reason)
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

    private static func giveUp(isOversize: Bool, _ settings: DispatcherSettings) -> Verdict? {
        if !settings.retryFailedRequests { return .dead(.retriesOff) }
        return isOversize ? .dead(.oversize) : nil
    }
}

/// The outcome of an attempt, for the dead letters of events that it was the last attempt for (Behaviour D10).
struct LastAnswer {
    /// The destination's status code, where it has such codes.
    var status: Int?
    /// A piece of the destination's answer, or the cause of the failure.
    var text: String?
    /// False if the event was never sent: no attempt was made that could be counted.
    var wasSent = true

    /// The fault that kept an event from being sent at all.
    init(unsent fault: String) {
        (text, wasSent) = (fault, false)
    }

    init(_ result: SendResult) {
        switch result {
        case .refused(let refusal): (status, text) = (refusal.status, refusal.answer)
        case .lost(let cause): text = cause
        case .unsendable(let cause): (text, wasSent) = (cause, false)
        case .delivered, .noAnswer, .returned, .each, .interrupted: break
        }
    }

    init(_ outcome: EventOutcome) {
        text = outcome.cause
    }
}
