import HeadgateData

/// A dead letter as the daemon shows it (Protocol, `dead_letters.list`).
public struct ListedDeadLetter: Sendable, Equatable {
    /// Its number, by which it can be requeued or purged.
    public let letter: Int
    /// The id of the dispatcher that gave the event up.
    public let dispatcher: String
    /// Why, in one of the words of Behaviour D10.
    public let reason: String
    /// The destination's last status; nil where there was none.
    public let status: Int?
    /// A piece of the destination's last answer.
    public let answer: String?
    /// Attempts that were charged: a network error charges none (Behaviour D9).
    public let attempts: Int
    /// When the event failed first.
    public let firstFailedAt: Timestamp?
    /// When it was given up.
    public let diedAt: Timestamp?
    /// The event as it lay in the queue; nil when it is damaged.
    public let event: DataObject?

    /// Reads an entry of `dead_letters.list`. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        letter = entry.get(key: "letter") ?? 0
        dispatcher = entry.get(key: "dispatcher") ?? ""
        reason = entry.get(key: "reason") ?? ""
        status = entry.get(key: "status")
        answer = entry.get(key: "answer")
        attempts = entry.get(key: "attempts") ?? 0
        firstFailedAt = entry.get(key: "first_failed_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        diedAt = entry.get(key: "died_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        event = entry.get(key: "event")
    }
}
