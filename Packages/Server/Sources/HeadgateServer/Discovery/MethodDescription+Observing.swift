extension MethodDescription {
    private static let topics = Schema.words(WatchTopic.allCases.map(\.rawValue))

    static let looking = [
        MethodDescription(
            "status", "How things stand: what a person asks first.",
            result: .object([
                .required("version", .name), .required("uptime_ms", .count), .required("ready", .bool),
                .required(
                    "store",
                    .object([
                        .required("kind", .name), .required("durability", .words(["full", "normal", "memory"])),
                        .required("events", .count), .required("bytes", .count),
                        .required("oldest_ms", .nullable(.count)),
                        .required(
                            "dedupe",
                            .object([
                                .required("ids", .count, "how many ids of clients are remembered"),
                                .required("since", .nullable(.time), "when the oldest of them was received"),
                            ])),
                    ])),
                .required("clients", .count),
                .required(
                    "network",
                    .object([
                        .required("state", .words(["connected", "disconnected", "unknown"])),
                        .required("kind", .nullable(.words(["ethernet", "wifi", "cellular", "other"]))),
                    ])),
                .required("dispatchers", .array(.shared(.dispatcher))),
                .required("barriers", .array(.shared(.barrier))),
                .required("warnings", .array(.string)), .required("counters", .dictionary(.count)),
            ])),
        MethodDescription(
            "watch", "Tells what changes from now on, by `changed`.",
            params: [.optional("topics", .array(topics), "all, if nothing is said")],
            result: .object([.required("watch", .name)]), reasons: [.limit]),
        MethodDescription("unwatch", "Ends a watch.", params: [.required("watch", .name)], reasons: [.notFound]),
    ]

    static let queues = [
        MethodDescription(
            "queue.peek", "The next events of a dispatcher, as they are stored.",
            params: [
                .required("dispatcher", .name),
                .optional("limit", .integer(least: 1, most: QueueMethods.mostPeeked), "10 if nothing is said"),
                .optional("after", .count, "a sequence number: what comes behind it, as `next` tells"),
            ],
            result: .object([
                .required("events", .array(.object([]))),
                .required("next", .nullable(.integer(least: 1)), "for `after`; null when there are no more"),
            ]), reasons: [.notFound, .storage]),
        MethodDescription(
            "queue.purge", "Drops what waits for a dispatcher; what is in flight stays.",
            params: [
                .required("dispatcher", .name), .optional("before_seq", .integer(least: 1), "only what is older"),
            ],
            result: .object([.required("purged", .count)]), reasons: [.notFound, .storage]),
    ]

    static let deadLetters = [
        MethodDescription(
            "dead_letters.list", "The events that were given up, the oldest first.",
            params: [
                .optional("dispatcher", .name),
                .optional("limit", .integer(least: 1, most: DeadLetterMethods.largestPage), "100 if nothing is said"),
                .optional("after", .count, "a letter's number: those behind it, as `next` tells"),
            ],
            result: .object([
                .required("dead_letters", .array(.shared(.deadLetter))),
                .required("next", .nullable(.integer(least: 1)), "for `after`; null when there are no more"),
            ]), reasons: [.notFound, .storage]),
        MethodDescription(
            "dead_letters.requeue", "Queues dead letters anew, under the ids that they had.", params: chosenLetters,
            result: .object([.required("count", .count)]), reasons: [.notFound, .queueFull, .storage]),
        MethodDescription(
            "dead_letters.purge", "Drops dead letters.", params: chosenLetters,
            result: .object([.required("count", .count)]), reasons: [.notFound, .storage]),
    ]

    private static let chosenLetters: [Schema.Member] = [
        .optional("dispatcher", .name, "those of one dispatcher"),
        .optional("letters", .array(.integer(least: 1)), "these; all, if neither is said"),
    ]

    /// What the server sends without being asked again.
    static let told = [
        MethodDescription(
            "changed", "Something that a watch is about has changed. The topic's member holds how it is now.",
            params: [
                .required("watch", .name), .required("topic", topics),
                .optional("dispatchers", .array(.shared(.dispatcher))),
                .optional("barriers", .array(.shared(.barrier))),
                .optional("removed", .array(.name), "the ids of those that are there no more"),
                .optional("outcomes", .array(.object([.required("dispatcher", .name)]))),
                .optional("clients", .array(.object([.required("session", .name)]))), .optional("count", .count),
            ], direction: .serverNotification),
        MethodDescription(
            "closing", "The server is about to close this connection.", params: [.required("reason", .name)],
            direction: .serverNotification),
    ]
}
