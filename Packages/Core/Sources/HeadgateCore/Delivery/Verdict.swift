/// What is to be done with a batch, or with some of its events, after an attempt: Behaviour D3 as one table, first match
/// wins.
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
            self = Verdict(status: refusal.status, events: events, isOversize: isOversize, settings: settings)
        }
    }

    /// What is to be done with one event, of a destination that tells them apart (Behaviour K3, K4).
    init(_ outcome: EventOutcome, isOversize: Bool, settings: DispatcherSettings) {
        switch outcome {
        case .delivered: self = .delivered
        case .retry(let cause, let charged):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? .retry(cause: cause, charged: charged)
        case .dead(let reason, _):
            self = Verdict.giveUp(isOversize: isOversize, settings) ?? .dead(reason)
        }
    }

    private init(status: Int, events: Int, isOversize: Bool, settings: DispatcherSettings) {
        let retry = Verdict.retry(cause: "HTTP \(status)", charged: status != 413)
        if let verdict = Verdict.giveUp(isOversize: isOversize, settings) {
            self = verdict
        } else if let isRetried = settings.retryForStatusCodes[status] {
            self = isRetried ? retry : .dead(.refusedStatus)
        } else if status == 413 {
            self = events > 1 ? .halve : .dead(.tooLarge)
        } else if settings.onUnauthorized == .pause, status == 401 || status == 403 {
            self = .hold(cause: "HTTP \(status)")
        } else {
            self = Verdict.finalStatuses.contains(status) ? .dead(.refusedStatus) : retry
        }
    }

    /// Statuses that say that the events will never be taken.
    private static let finalStatuses: Set<Int> = [400, 401, 403, 410, 422]

    private static func giveUp(isOversize: Bool, _ settings: DispatcherSettings) -> Verdict? {
        if !settings.retryFailedRequests { return .dead(.retriesOff) }
        return isOversize ? .dead(.oversize) : nil
    }
}
