/// The schemas that more than one message uses, under the names that they have in the document.
enum SharedSchema: String, CaseIterable, Sendable {
    case trackedEvent = "TrackedEvent"
    case deliveredEvent = "DeliveredEvent"
    case dispatcher = "Dispatcher"
    case barrier = "Barrier"
    case deadLetter = "DeadLetter"
    case settingsLayer = "SettingsLayer"

    var schema: Schema {
        switch self {
        case .trackedEvent: .object(Self.trackedEventMembers)
        case .deliveredEvent: .object(Self.deliveredEventMembers)
        case .dispatcher: .object(Self.dispatcherMembers)
        case .barrier: .object(Self.barrierMembers)
        case .deadLetter: .object(Self.deadLetterMembers)
        case .settingsLayer: .words(SettingsLayer.allCases.map(\.rawValue))
        }
    }
}

extension SharedSchema {
    /// The params of `track`.
    static let trackedEventMembers: [Schema.Member] = [
        .required("event", .name, "what happened"),
        .optional("data", .object([])),
        .optional("id", .name, "the same id again, in the same namespace and within the dedupe window, is stored once"),
        .optional("key", .name, "events of one key are delivered in order, whatever goes on beside them"),
        .optional("time", .time, "when it happened; else when it was received"),
        .optional("dispatchers", .array(.name), "narrows the dispatchers that may get it"),
        .optional("ttl_ms", .integer(least: 1), "how long after its receipt it is worth delivering"),
    ]

    private static let deliveredEventMembers: [Schema.Member] = [
        .required("id", .name), .required("seq", .integer(least: 1), "its place in the order of receipt"),
        .required("event", .name), .required("time", .time), .required("received_at", .time),
        .optional("key", .name), .required("attempt", .integer(least: 1), "charged attempts so far, and one"),
        .required("context", .object([]), "where it comes from"), .required("data", .object([])),
    ]

    private static let dispatcherMembers: [Schema.Member] = [
        .required("id", .name), .required("kind", .name), .required("way", .words(["open", "closed"])),
        .required("blocked_by", .array(.name), "the ids of the barriers that close the way"),
        .required("pending", .count, "events that wait"), .required("in_flight", .count),
        .required("sent", .count, "events delivered since the start"),
        .required("failed", .count, "attempts that failed since the start"),
        .required("dead", .count), .required("expired", .count), .required("evicted", .count),
        .required("oldest_ms", .nullable(.count), "the age of the oldest event that waits"),
        .required("retry_at", .nullable(.time)), .required("last_error", .nullable(.string)),
        .required("flushing", .bool),
    ]

    private static let barrierMembers: [Schema.Member] = [
        .required("id", .name), .required("kind", .name),
        .required("scopes", .array(.name), "`all`, or the ids of dispatchers; none: switched off"),
        .required("states", .dictionary(.words(["open", "closed", "waiting"])), "by dispatcher"),
        .required("flushable", .bool), .required("since", .time),
        .required("owner", .nullable(.name), "the session that registered it"),
        .required("word", .name, "the reason word for people and for `queue_reason`"),
        .required("reason", .nullable(.string), "what the operator or the owner said, or the cause"),
        .required("configuration", .object([])),
    ]

    private static let deadLetterMembers: [Schema.Member] = [
        .required("letter", .integer(least: 1)), .required("dispatcher", .nullable(.name)),
        .required(
            "reason",
            .words([
                "oversize", "too_large", "refused_status", "retries_off", "max_attempts", "max_retry_age", "refused",
            ])),
        .required("status", .nullable(.count), "the last answer's status"),
        .required("answer", .nullable(.string), "the beginning of the last answer"),
        .required("attempts", .count), .required("first_failed_at", .time), .required("died_at", .time),
        .required("event", .object([])),
    ]
}
