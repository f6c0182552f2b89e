/// A counter of the daemon that may need action, with a description and advice.
public struct CounterAdvice: Sendable {
    /// The counter's name in `status`.
    public let counter: String
    /// The text that follows the number.
    public let words: String
    /// The advice to the operator.
    public let advice: String

    /// Counters of events that were not delivered. The service and each dispatcher have them.
    public static let ofEvents = [
        CounterAdvice(
            counter: "dead", words: "dead-lettered",
            advice: "Look at its dead letters, mend the cause, and requeue or purge them."),
        CounterAdvice(
            counter: "expired", words: "lost: too old, by `max_age_s` or their `ttl_ms`",
            advice: "Raise `store.max_age_s`, or find out what held them so long."),
        CounterAdvice(
            counter: "evicted", words: "lost: to make room, or purged",
            advice: "Raise `store.max_events` or `store.max_bytes`, or let it reject instead."),
    ]

    /// Counters that only the service has.
    public static let ofService = [
        CounterAdvice(
            counter: "dropped_letters", words: "dead letters had to make room for newer ones",
            advice: "Look at the dead letters before there are so many, and requeue or purge them."),
        CounterAdvice(
            counter: "quarantined", words: "damaged records were set aside",
            advice: "Check the disk; the pieces are kept below the data directory."),
        CounterAdvice(
            counter: "rejected", words: "events were refused",
            advice: "The clients were told why: mostly a full store, or an event that is too large."),
        CounterAdvice(
            counter: "rejected_connections", words: "connections were refused",
            advice: "Raise `limits.max_connections`, or find the client that opens so many."),
        CounterAdvice(
            counter: "slow_readers_closed", words: "clients did not read their answers and were closed",
            advice: "Look at what those clients do instead of reading."),
        CounterAdvice(
            counter: "limited", words: "messages were refused because of a limit",
            advice: "The clients were told which; `limits` in the settings has them."),
        CounterAdvice(
            counter: "line_too_long", words: "lines were too long",
            advice: "Raise `limits.max_line_bytes`, or send less in one message."),
        CounterAdvice(
            counter: "failed_notifications", words: "messages without an id failed",
            advice: "Have the client send requests, so that it is told why."),
        CounterAdvice(
            counter: "collector_errors", words: "times a collector failed", advice: "The log tells which, and why."),
        CounterAdvice(
            counter: "barrier_errors", words: "times a barrier failed", advice: "The log tells which, and why."),
        CounterAdvice(
            counter: "transformation_errors", words: "times a transformation failed",
            advice: "Those events went on unchanged; the log tells why."),
    ]
}
