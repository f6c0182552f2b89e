/// A counter of the daemon that may need action, with a description and advice.
public struct CounterAdvice: Sendable {
    /// The counter's name in `status`.
    public let counter: String
    /// The noun that the number counts, in the singular.
    public let noun: String
    /// The text that follows the number and the noun.
    public let words: String
    /// The advice to the operator.
    public let advice: String

    /// Counters of events that were not delivered. The service and each dispatcher have them.
    public static let ofEvents = [
        CounterAdvice(
            counter: "dead", noun: "event", words: "dead-lettered",
            advice: "List the dead letters, fix the cause, then requeue or purge them."),
        CounterAdvice(
            counter: "expired", noun: "event", words: "expired, by `max_age_s` or their `ttl_ms`",
            advice: "Raise `store.max_age_s`, or check why the dispatcher was blocked for so long."),
        CounterAdvice(
            counter: "evicted", noun: "event", words: "evicted to make room",
            advice: "Raise `store.max_events` or `store.max_bytes`, or let the store reject new events instead."),
    ]

    /// Counters that only the service has.
    public static let ofService = [
        CounterAdvice(
            counter: "dropped_letters", noun: "dead letter", words: "deleted to make room for newer ones",
            advice: "Requeue or purge dead letters earlier, or raise `store.max_dead_letters`."),
        CounterAdvice(
            counter: "quarantined", noun: "event", words: "lost to damage in the store",
            advice: "Check the disk. The damaged data is kept in the data directory."),
        CounterAdvice(
            counter: "rejected", noun: "event", words: "refused",
            advice: "The clients got the reason: usually a full store or an event that is too large."),
        CounterAdvice(
            counter: "rejected_connections", noun: "connection", words: "refused",
            advice: "Raise `limits.max_connections`, or find the client that opens too many connections."),
        CounterAdvice(
            counter: "slow_readers_closed", noun: "connection",
            words: "closed because clients did not read their answers",
            advice: "Check why these clients do not read."),
        CounterAdvice(
            counter: "limited", noun: "message", words: "refused because of a limit",
            advice: "The clients got the name of the limit; see `limits` in the settings."),
        CounterAdvice(
            counter: "line_too_long", noun: "line", words: "refused as too long",
            advice: "Raise `limits.max_line_bytes`, or send less in one message."),
        CounterAdvice(
            counter: "failed_notifications", noun: "failure", words: "of messages without an id",
            advice: "Let the client send requests, so that it gets the error."),
        CounterAdvice(
            counter: "collector_errors", noun: "failure", words: "of collectors", advice: "The log has the cause."),
        CounterAdvice(
            counter: "barrier_errors", noun: "failure", words: "of barriers", advice: "The log has the cause."),
        CounterAdvice(
            counter: "transformation_errors", noun: "failure", words: "of transformations",
            advice: "These events were sent unchanged; the log has the cause."),
    ]
}
