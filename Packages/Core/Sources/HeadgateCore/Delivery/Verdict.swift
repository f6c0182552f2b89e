/// What is to be done with a batch, or with some of its events, after an attempt: what Behaviour D3 says of all kinds of
/// destinations, first match wins. What a destination's answer means its sender says.
enum Verdict: Equatable {
    /// All events are delivered.
    case delivered
    /// All events wait and are sent again. `charged`: the attempt counts (Behaviour D9).
    case retry(cause: String, charged: Bool)
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
        case .noAnswer(let cause):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? .retry(cause: cause, charged: false)
        case .returned(let cause):
            self = Verdict.giveUp(isOversize: false, settings) ?? .retry(cause: cause, charged: false)
        case .refused(let refusal):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? Verdict(refusal, events: events)
        }
    }

    /// What is to be done with one event, of a destination that tells them apart (Behaviour K3, K4).
    init(_ outcome: EventOutcome, isOversize: Bool, settings: DispatcherSettings) {
        switch outcome {
        case .delivered, .duplicate: self = .delivered
        case .retry(let cause, let charged):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? .retry(cause: cause, charged: charged)
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

/// What an attempt brought for events that may have to be given up (Behaviour D10).
struct LastAnswer {
    /// The destination's status code, where it has such codes.
    var status: Int?
    /// A piece of what it said.
    var text: String?
    /// Whether the attempt counts for `max_attempts`: without an answer, or where only the size was wrong, it does not
    /// (Behaviour D9).
    var chargesAttempt = false

    /// The fault that kept an event from being sent at all.
    init(unsent fault: String) {
        text = fault
    }

    init(_ result: SendResult) {
        guard case .refused(let refusal) = result else { return }
        status = refusal.status
        text = refusal.answer
        chargesAttempt = refusal.isCharged
    }

    init(_ outcome: EventOutcome) {
        text = outcome.cause
        switch outcome {
        case .delivered, .duplicate: break
        case .retry(_, let charged): chargesAttempt = charged
        case .dead: chargesAttempt = true
        }
    }
}
