import HeadgateWire

/// The daemon's request `dispatch` to workers (Behaviour K3).
enum WorkerMessages {
    static let dispatch = ServerMessage(
        "dispatch", "A batch for a worker. After an error, or no answer within the lease, it is sent again.",
        params: [
            .required("dispatcher", .name), .required("batch", .name), .required("attempt", .place),
            .required("events", .array(deliveredEvent)),
        ],
        result: .object([
            .optional(
                "outcomes", .dictionary(.words(of: WorkerAnswer.Word.self)),
                "by event id; those not named are delivered")
        ]))

    /// The schema of a delivered event, which all kinds of dispatchers send.
    private static let deliveredEvent = Schema.named(
        "DeliveredEvent",
        .object([
            .required("id", .name), .required("seq", .place, "its place in the order of receipt"),
            .required("event", .name), .required("time", .time), .required("received_at", .time),
            .optional("key", .name), .required("attempt", .place, "charged attempts so far, and one"),
            .required("context", .anyObject, "where it comes from"), .required("data", .anyObject),
        ]))
}
