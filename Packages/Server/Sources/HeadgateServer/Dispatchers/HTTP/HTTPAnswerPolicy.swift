import HeadgateCore

/// What an answer that is no success means for the events of a batch: Behaviour D3 and D7 for destinations of kind `http`,
/// first match wins. That `retry_failed_requests` is off, or a batch oversize, goes before all of it, for every kind.
struct HTTPAnswerPolicy: Sendable, Equatable {
    /// Status codes that are retried (true) or given up (false) against the rule.
    var retryForStatusCodes: [Int: Bool] = [:]
    /// What 401 and 403 do.
    var onUnauthorized = OnUnauthorized.dead

    /// What 401 and 403 do.
    enum OnUnauthorized: String, Sendable {
        /// The events are dead-lettered.
        case dead
        /// The dispatcher holds until it is resumed or its settings change (D7).
        case pause
    }

    /// Statuses that say that the events will never be taken.
    private static let finalStatuses: Set<Int> = [400, 401, 403, 410, 422]

    /// A refusal by its status.
    func refusal(status: Int, retryAfter: Duration? = nil, answer: String? = nil) -> SendResult.Refusal {
        // Where only the size was wrong no attempt is charged (Behaviour D9).
        SendResult.Refusal(
            meaning(of: status), cause: "HTTP \(status)", isCharged: status != 413, retryAfter: retryAfter,
            isUnauthorized: status == 401, status: status, answer: answer)
    }

    private func meaning(of status: Int) -> SendResult.Refusal.Meaning {
        if let isRetried = retryForStatusCodes[status] { return isRetried ? .again : .never }
        switch status {
        case 413: return .tooLarge
        case 401, 403: return onUnauthorized == .pause ? .notAllowed : .never
        default: return HTTPAnswerPolicy.finalStatuses.contains(status) ? .never : .again
        }
    }
}
