import HeadgateCore

extension MethodDescription {
    private static let state = Schema.words(["open", "closed"])

    static let barriers = [
        MethodDescription(
            "barrier.list", "Every barrier, with its states.",
            result: .object([.required("barriers", .array(.shared(.barrier)))])),
        MethodDescription(
            "barrier.register", "Registers a barrier of the client's own, or takes over one that was left behind.",
            params: [
                .required("id", .name),
                .optional("scopes", .either([.array(.name), .name]), "`all`, or ids of dispatchers"),
                .required("state", state), .optional("flushable", .bool, "true if nothing is said"),
                .optional(
                    "on_disconnect", .words(["unregister", "open", "close", "keep"]), "`unregister` if nothing is said"),
            ], reasons: [.conflict, .limit]),
        MethodDescription(
            "barrier.set", "Changes a barrier of the client's own.",
            params: [
                .required("id", .name), .optional("state", state), .optional("flushable", .bool),
                .optional("dispatcher", .name, "for this one only"), .optional("reason", .string),
            ], reasons: [.notFound, .conflict]),
        MethodDescription(
            "barrier.unregister", "Takes a barrier away.",
            params: [.required("id", .name), .optional("force", .bool, "another client's, too")],
            reasons: [.notFound, .conflict]),
    ]

    static let dispatchers = [
        MethodDescription(
            "dispatcher.list", "Every dispatcher, with its queue.",
            result: .object([.required("dispatchers", .array(.shared(.dispatcher)))])),
        MethodDescription(
            "dispatcher.pause", "Closes a dispatcher's ManualBarrier.",
            params: [
                .required("id", .name), .optional("reason", .string),
                .optional("flushable", .bool, "whether a flush goes through; false if nothing is said"),
            ], reasons: [.notFound, .storage]),
        MethodDescription(
            "dispatcher.resume", "Opens a dispatcher's ManualBarrier.",
            params: [.required("id", .name), .optional("reason", .string)], reasons: [.notFound, .storage]),
        MethodDescription(
            "dispatcher.subscribe", "Takes batches of a dispatcher of kind `worker`, which come as `dispatch`.",
            params: [
                .required("id", .name),
                .optional(
                    "credit", .integer(least: 1, most: DispatcherSettings.mostInFlight),
                    "batches at once; 1 if nothing is said"),
                .optional("limit", .integer(least: 1), "the most events of a batch"),
            ], reasons: [.notFound, .conflict]),
        MethodDescription(
            "dispatcher.unsubscribe", "Takes no more batches; answered once those under way are settled.",
            params: [.required("id", .name)], reasons: [.notFound]),
    ]

    static let boards = [
        MethodDescription(
            "board.serve", "Serves a board, which then comes as `board.run`.",
            params: [
                .required("board", .name),
                .optional(
                    "barrier",
                    .object([
                        .required("board", .name),
                        .optional("option", .words(["void", "unique", "each"]), "`void` if nothing is said"),
                        .optional("scope", .words(["main", "global"]), "`main` if nothing is said"),
                        .optional("timeout_ms", .duration, "30 000 if nothing is said"),
                        .optional("on_timeout", .words(["cancel", "pass"]), "`cancel` if nothing is said"),
                        .optional("sticky_ms", .duration, "how long its completion counts for those who come later"),
                    ]), "the board that must complete before this one runs"),
                .optional("bypass_gateway", .bool, "no gateway stands before it, where settings allow that"),
            ], reasons: [.conflict, .activationCycle, .limit]),
        MethodDescription(
            "board.unserve", "Serves a board no more.", params: [.required("board", .name)], reasons: [.notFound]),
        MethodDescription(
            "board.activate", "Activates a board, after its barriers, and answers with its outcome.",
            params: [
                .required("board", .name), .optional("input", .any),
                .optional("mainboard", .name, "by default the connection's namespace"),
                .optional("timeout_ms", .duration, "from when its process is asked; 30 000 if nothing is said"),
                .optional("wait_ms", .durationOrNone, "how long to wait for one that serves it; 0 if nothing is said"),
            ],
            result: .object([.required("done", .bool), .optional("output", .any)]),
            reasons: [.notFound, .cancelled, .providerLost, .timeout, .activationCycle, .limit, .shuttingDown]),
    ]

    static let settings = [
        MethodDescription(
            "config.get", "The settings in force, or those of one layer; secrets are blanked.",
            params: [.optional("layer", .shared(.settingsLayer))], result: .object([])),
        MethodDescription(
            "config.set", "Merges a patch into the programmatic layer; null removes.",
            params: [
                .required("patch", .object([])), .optional("persist", .bool, "whether it outlives a restart"),
            ], reasons: [.invalidSettings, .storage]),
        MethodDescription(
            "config.reload", "Reads the configuration file again.",
            result: .object([.required("changed", .array(.name), "the places that differ")]),
            reasons: [.invalidSettings]),
    ]

    /// What the server asks of clients.
    static let asked = [
        MethodDescription(
            "dispatch", "A batch for a worker. An error in answer, or none within the lease: all of it is tried again.",
            params: [
                .required("dispatcher", .name), .required("batch", .name), .required("attempt", .integer(least: 1)),
                .required("events", .array(.shared(.deliveredEvent))),
            ],
            result: .object([
                .optional(
                    "outcomes", .dictionary(.words(["delivered", "retry", "dead"])),
                    "by event id; those not named are delivered")
            ]), direction: .serverToClient),
        MethodDescription(
            "board.run", "Runs a board.",
            params: [
                .required("board", .name), .required("activation", .name), .required("input", .any),
                .required("mainboard", .string), .required("as_barrier", .bool),
            ],
            result: .object([.required("done", .bool), .optional("output", .any)]), direction: .serverToClient),
    ]
}
