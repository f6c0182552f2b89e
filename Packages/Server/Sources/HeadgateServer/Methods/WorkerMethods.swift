import HeadgateCore
import HeadgateWire

/// The methods `dispatcher.subscribe` and `dispatcher.unsubscribe`, and the daemon's request `dispatch` to subscribed
/// workers (Behaviour K3).
struct WorkerMethods: MethodFamily {
    let gate: Headgate
    let workerGroups: WorkerGroups

    private static let subscribe = FamilyMethod<Self>(
        "dispatcher.subscribe", .serve,
        "Subscribes to the batches of a dispatcher of kind `worker`, which the daemon sends as `dispatch`.",
        Field("id", .string),
        Field(
            optional: "credit", .integer(1...DispatcherSettings.mostInFlight), default: 1, "the most batches at a time"),
        Field(optional: "limit", .integer(1...), "the most events of a batch"),
        reasons: [.notFound, .conflict, .unauthorized]
    ) { parts, call, id, credit, mostEvents throws(RPCError) in
        guard let workerGroup = parts.workerGroups.open(id) else {
            guard parts.gate.dispatchers.contains(id) else { throw .unknownDispatcher(id) }
            throw RPCError(.conflict, "dispatcher \(id) is not of kind worker")
        }
        guard call.session.caller.mayWork(for: workerGroup.workers) else {
            throw RPCError(
                .unauthorized,
                "dispatcher \(id) restricts its workers: dispatchers.\(id).workers in the daemon's settings must name your user or group",
                data: ["group": "serve"])
        }
        call.reply.answer()
        workerGroup.subscribe(call.session, credit: credit, mostEvents: mostEvents ?? .max)
    }

    private static let unsubscribe = FamilyMethod<Self>(
        "dispatcher.unsubscribe", .serve,
        "Ends a subscription. The answer comes once the batches in progress are answered.",
        Field("id", .string), reasons: [.notFound]
    ) { parts, call, id throws(RPCError) in
        let reply = call.reply
        let workerGroup = parts.workerGroups.known(id)
        guard workerGroup?.unsubscribe(call.session.number, then: { reply.answer() }) == true else {
            throw RPCError(.notFound, "no subscription to dispatcher \(id)")
        }
    }

    static let methods = [subscribe, unsubscribe]
    static let messages = [WorkerMessages.dispatch]
}
