import HeadgateCore

/// The meaning of HTTP statuses: Behaviour D3, D7 and D9 for HTTP destinations. The first matching rule applies.
/// `retry_failed_requests` and `oversize` come before these rules, for every kind of dispatcher.
struct HTTPAnswerPolicy: Sendable, Equatable {
    /// Statuses for which the settings override the rules: true to retry, false to dead-letter the events.
    var retryForStatusCodes: [Int: Bool] = [:]
    /// The effect of the statuses 401 and 403.
    var onUnauthorized = OnUnauthorized.dead

    /// The effect of the statuses 401 and 403.
    enum OnUnauthorized: String, Sendable {
        /// The events are dead-lettered.
        case dead
        /// The dispatcher pauses until it is resumed or its settings change (D7).
        case pause
    }

    /// Statuses that mean that the destination will never accept the events.
    private static let finalStatuses: Set<Int> = [400, 401, 403, 410, 422]

    /// Statuses of a destination that is unavailable or overloaded, and 413, which concerns only the batch's size. They
    /// charge no attempt (Behaviour D9).
    private static let unchargedStatuses: Set<Int> = [408, 413, 429, 502, 503, 504]

    /// Returns the result of an attempt that got a status other than 2xx.
    func refusal(status: Int, retryAfter: Duration? = nil, answer: String? = nil) -> SendResult.Refusal {
        SendResult.Refusal(
            meaning(of: status), cause: "HTTP \(status)",
            isCharged: !HTTPAnswerPolicy.unchargedStatuses.contains(status), retryAfter: retryAfter,
            isUnauthorized: status == 401, status: status, answer: answer)
    }

    /// Returns the result of an attempt that a proxy refused to connect, with any status. The destination has not
    /// answered, so the events are sent again as after a network error.
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
