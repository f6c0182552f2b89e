import HeadgateCore
import HeadgateWire

/// The daemon's request `dispatch` to workers (Behaviour K3).
enum WorkerMessages {
    static let dispatch = ServerMessage(
        "dispatch",
        "A batch for a worker. If the answer is an error, or does not come within the lease, the daemon sends the batch again.",
        params: params.declared,
        result: .object([
            .optional(
                "outcomes", .dictionary(.words(of: WorkerAnswer.Word.self)),
                "outcomes by event id; missing events count as delivered")
        ]))

    /// The params of `dispatch`.
    static let params = OutputMembers<(dispatcher: String, batch: Batch)>.all([
        .required("dispatcher", .name, \.dispatcher), .required("batch", .name, \.batch.idempotencyKey),
        .required("attempt", .positive, \.batch.attempt),
        .required("events", .json(.array(deliveredEvent)), \.batch.body),
    ])

    /// The schema of a delivered event, which all kinds of dispatchers send.
    private static let deliveredEvent = Schema.named(
        "DeliveredEvent",
        .object([
            .required("id", .name), .required("seq", .positive, "its sequence number, in the order of receipt"),
            .required("event", .name), .required("time", .time), .required("received_at", .time),
            .optional("key", .name), .required("attempt", .positive, "the number of this attempt, from 1"),
            .required("context", .anyObject, "the origin of the event"), .required("data", .anyObject),
        ]))
}
