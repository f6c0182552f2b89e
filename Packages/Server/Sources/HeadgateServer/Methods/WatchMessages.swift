import HeadgateCore
import HeadgateWire

/// The notification `changed` to clients that watch (Behaviour B10).
enum WatchMessages {
    static let changed = ServerMessage(
        "changed", "A watched topic has changed. The topic's member has the new state.",
        params: [
            .required("watch", .name), .required("topic", .words(of: WatchTopic.self)),
            .optional("dispatchers", .array(DispatcherMethods.dispatcher)),
            .optional("barriers", .array(BarrierMethods.barrier)),
            .optional("removed", .array(.name), "the ids of removed entries"),
            .optional("outcomes", .array(outcomes), "the counts since the previous notification"),
            .optional("clients", .array(.object(SessionIdentity.members.declared))),
            .optional("count", .count, "the number of connected clients"),
        ])

    private static let outcomes = Schema.object(
        [.required("dispatcher", .name)] + outcomeCounters + [.required("last_error", .nullable(.text))])

    private static let outcomeCounters: [Schema.Member] = DispatcherCounter.allCases.compactMap { counter in
        counter.nameAsOutcome.map { .required($0, .count, counter.meaning) }
    }
}
