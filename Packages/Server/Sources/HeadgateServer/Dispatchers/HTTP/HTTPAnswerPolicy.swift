import HeadgateCore

/// The one place where HTTP statuses are judged: Behaviour D3, D7 and D9 for destinations that speak HTTP, first match wins.
/// `retry_failed_requests` and `oversize` go before all of it, for every kind of dispatcher.
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

    /// Statuses by which the destination says that it is away or overloaded, and 413, where only the size was wrong: they
    /// charge no attempt (Behaviour D9).
    private static let unchargedStatuses: Set<Int> = [408, 413, 429, 502, 503, 504]

    /// Returns what a status means that is no success.
    func refusal(status: Int, retryAfter: Duration? = nil, answer: String? = nil) -> SendResult.Refusal {
        SendResult.Refusal(
            meaning(of: status), cause: "HTTP \(status)",
            isCharged: !HTTPAnswerPolicy.unchargedStatuses.contains(status), retryAfter: retryAfter,
            isUnauthorized: status == 401, status: status, answer: answer)
    }

    /// Returns what it means that a proxy refuses to connect, whatever its status: the destination said nothing, so the events
    /// wait as after any network error.
    static func refusalByProxy(status: Int, retryAfter: Duration?) -> SendResult {
        .noAnswer(cause: "proxy: HTTP \(status)", retryAfter: retryAfter)
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
