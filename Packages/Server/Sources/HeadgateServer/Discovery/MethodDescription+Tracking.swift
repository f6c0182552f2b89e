extension MethodDescription {
    static let connection = [
        MethodDescription(
            "hello", "Says who the client is. Optional, and the first request if sent.",
            params: [
                .required("client", .object([.required("name", .name), .optional("version", .string)])),
                .optional("namespace", .name, "in which its events' ids are unique; by default its user's"),
                .optional("protocol", .integer(least: 1, most: 1), "any other is refused"),
            ],
            result: .object([
                .required(
                    "server",
                    .object([
                        .required("name", .name), .required("version", .name), .required("pid", .integer(least: 1)),
                    ])),
                .required("protocol", .integer(least: 1)), .required("session", .name),
                .required("limits", .dictionary(.count)),
            ]), reasons: [.conflict]),
        MethodDescription("ping", "Answers."),
        MethodDescription(
            "rpc.discover", "This document.",
            result: .object([
                .required("openrpc", .name), .required("info", .object([])), .required("methods", .array(.object([]))),
                .required("components", .object([])),
            ])),
    ]

    static let tracking = [
        MethodDescription(
            "track", "Takes an event, and answers once it is safe.", params: SharedSchema.trackedEventMembers,
            result: .object([
                .required("id", .name), .optional("seq", .integer(least: 1), "its place in the order of receipt"),
                .optional("duplicate", .bool, "true: it was here before, and is not stored again"),
                .optional("unrouted", .bool, "true: no dispatcher wants it, and it is not stored"),
            ]), reasons: [.queueFull, .eventTooLarge, .storage, .limit, .shuttingDown]),
        MethodDescription(
            "track_many", "Takes events, all or none.",
            params: [.required("events", .array(.shared(.trackedEvent)))],
            result: .object([
                .required("ids", .array(.name)), .required("first_seq", .nullable(.integer(least: 1))),
                .required("last_seq", .nullable(.integer(least: 1))), .required("duplicates", .count),
                .required("unrouted", .count),
            ]), reasons: [.queueFull, .eventTooLarge, .storage, .limit, .shuttingDown]),
        MethodDescription(
            "application.status", "Announces whether the client's application is in front of people.",
            params: [.required("status", .words(["foreground", "background", "exiting"]))]),
    ]

    static let flushing = [
        MethodDescription(
            "flush", "Sends what is queued now, flushable barriers or not.",
            params: [
                .optional("dispatchers", .array(.name), "all, if nothing is said"),
                .optional("wait", .bool, "answers when it has ended"),
                .optional("timeout_ms", .durationOrNone, "30 000 if nothing is said; 0 is none"),
                .optional("flush", .name, "an id of the client's choice, to cancel it by"),
            ],
            result: .object([
                .required("flush", .name), .optional("ended", .words(["settled", "timeout", "cancelled"])),
                .optional(
                    "dispatchers",
                    .dictionary(
                        .object([
                            .required("sent", .count), .required("failed", .count), .required("left", .count),
                            .required("blocked_by", .array(.name)),
                        ]))),
            ]), reasons: [.notFound, .conflict, .limit]),
        MethodDescription(
            "flush.cancel", "Ends a flush; what it did not send waits again.", params: [.required("flush", .name)],
            reasons: [.notFound]),
    ]
}
