import HeadgateCore
import HeadgateWire

/// The methods `dispatcher.subscribe` and `dispatcher.unsubscribe`, and the daemon's request `dispatch` to subscribed
/// workers (Behaviour K3).
enum WorkerMethods {
    private static let subscribe = Method(
        "dispatcher.subscribe", .serve, "Takes batches of a dispatcher of kind `worker`, which come as `dispatch`.",
        Field("id", .string),
        Field(optional: "credit", .integer(1...DispatcherSettings.mostInFlight), usually: 1, "batches at once"),
        Field(optional: "limit", .integer(1...), "the most events of a batch"),
        reasons: [.notFound, .conflict, .unauthorized]
    ) { service, call, id, credit, mostEvents throws(RPCError) in
        guard let workforce = service.workforces.open(id) else {
            guard service.gate.hasDispatcher(id) else { throw .unknownDispatcher(id) }
            throw RPCError(.conflict, "dispatcher \(id) is not of kind worker")
        }
        guard call.session.caller.mayWork(for: workforce.workers) else {
            throw RPCError(
                .unauthorized,
                "dispatcher \(id) restricts its workers: dispatchers.\(id).workers in the daemon's settings must name your user or group",
                data: ["group": "serve"])
        }
        call.reply.answer()
        workforce.subscribe(call.session, credit: credit, mostEvents: mostEvents ?? .max)
    }

    private static let unsubscribe = Method(
        "dispatcher.unsubscribe", .serve, "Ends a subscription. Answered once its batches are finished.",
        Field("id", .string), reasons: [.notFound]
    ) { service, call, id throws(RPCError) in
        let reply = call.reply
        let workforce = service.workforces.known(id)
        guard workforce?.unsubscribe(call.session.number, then: { reply.answer() }) == true else {
            throw RPCError(.notFound, "no subscription to dispatcher \(id)")
        }
    }

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

    static let family = MethodFamily(methods: [subscribe, unsubscribe], messages: [dispatch])
}
