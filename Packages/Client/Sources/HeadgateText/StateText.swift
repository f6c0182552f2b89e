import HeadgateClient
import HeadgateData

extension ListedDispatcher {
    /// Returns `last error 3 min ago: HTTP 401`, or nil if the last attempt succeeded.
    public func lastErrorText(_ clock: WallClock) -> String? {
        lastError.map { "last error\(lastErrorAt.map { " \(Quantity.time(clock.age($0))) ago" } ?? ""): \($0)" }
    }
}

extension ListedClient.Stop {
    /// The reason as a text for people.
    public var words: String {
        switch reason {
        case "unanswered": "limit of unanswered requests reached (limits.max_unanswered)"
        case "unanswered_bytes": "limit of unanswered bytes reached (limits.max_unanswered_bytes)"
        case "unread_answers": "the client does not read its answers (limits.max_output_bytes)"
        case "storing": "the store's write buffer is full"
        case "rate": "its user is above the limit of events per second (limits.rate)"
        default: reason
        }
    }
}
