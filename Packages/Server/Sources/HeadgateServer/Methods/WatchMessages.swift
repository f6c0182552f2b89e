import HeadgateCore
import HeadgateWire

/// The notification `changed` to clients that watch (Behaviour B10).
enum WatchMessages {
    static let changed = ServerMessage(
        "changed", "A watched topic has changed. The topic's member has the new state.",
        params: params.declared)

    /// The params of `changed`: the watch, the topic, and the topic's changes.
    static let params = OutputMembers<(watch: String, topic: WatchTopic, news: TopicNews)>.all([
        .required("watch", .name, \.watch), .required("topic", .word, \.topic),
        .optional("dispatchers", .array(DispatcherMethods.dispatcher), \.news.dispatchers),
        .optional("barriers", .array(BarrierMethods.barrier), \.news.barriers),
        .optional("removed", .array(.name), \.news.removed, "the ids of removed entries"),
        .optional("outcomes", .array(outcomes), \.news.outcomes, "the counts since the previous notification"),
        .optional(
            "erasure", .nullable(erasure), \.news.erasure, "topic `outcomes`: the erasure in progress; null at its end"),
        .optional("count", .count, \.news.clients?.count, "the number of connected clients"),
        .optional("clients", .array(.object([SessionIdentity.members])), \.news.clients),
    ])

    private static let outcomes = OutputShape<DispatcherOutcomes>.object([
        .required("dispatcher", .name, \.dispatcher),
        DispatcherMethods.counters(\.nameAsOutcome, \.meaning).of(\.counters),
        .required("last_error", .nullable(.text), \.lastError),
    ])

    /// The progress of an erasure, which `status` has as well.
    static let erasure = OutputShape<ErasureProgress>.object([
        .required("step", .word, \.step),
        .required("events", .count, \.done.events, "the events erased, or counted, so far"),
        .required("dead_letters", .count, \.done.deadLetters),
        .required("seq", .count, \.scannedThrough, "the last event that was scanned"),
        .required("last_seq", .count, \.last, "the last event to scan"),
    ])
}
