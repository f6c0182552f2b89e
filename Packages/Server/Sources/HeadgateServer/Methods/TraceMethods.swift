import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `event.trace`.
struct TraceMethods: MethodFamily {
    let gate: Headgate
    let control: SettingsControl
    let quota: UserQuota

    private static let trace = FamilyMethod<Self>(
        "event.trace", .observe, "Returns the state or outcome of an event for each of its dispatchers.",
        changesNothing: true, Field("id", .string(1...Limits.longestWord), "the event's id"),
        Field(
            optional: "namespace", .string(1...UserNamespace.longest),
            "the namespace of the id, as it is stored or as the caller chose it; by default the caller's; `*` is any"
        ),
        result: traced.schema, reasons: [.notFound, .storage, .limit]
    ) { parts, call, id, namespace throws(RPCError) in
        let caller = call.session.caller
        let named = namespace.map {
            UserNamespace.requested($0, by: caller.credentials, parts.control.inForce.access)
        }
        let (quota, uid, reply) = (parts.quota, call.session.caller.credentials.uid, call.reply)
        try quota.begin(for: uid)
        parts.gate.trace(id, in: namespace == "*" ? nil : named ?? caller.namespace, isAwaited: { reply.isWaiting }) {
            result in
            quota.end(for: uid)
            switch result {
            case .success(let events) where events.isEmpty:
                reply.fail(
                    RPCError(
                        .notFound,
                        "no event \(id) is known: it was never received, or its outcome is no longer remembered"))
            case .success(let events): reply.answer(traced, events.map { (id, $0) })
            case .failure: reply.fail(RPCError(.storage, "the event store could not be read"))
            }
        }
    }

    private static let traced = OutputShape<[(id: String, event: TracedEvent)]>.object([
        .required("events", .array(event), \.self, "the oldest first")
    ])

    private static let event = OutputShape<(id: String, event: TracedEvent)>.object([
        .required("id", .name, \.id),
        .required("namespace", .nullable(.text), \.event.namespace, "null if it is no longer known"),
        .required("seq", .positive, \.event.sequenceNumber),
        .required("event", .nullable(.text), \.event.name, "the event's name"),
        .required("received_at", .nullable(.time), \.event.receivedAt),
        .required("dispatchers", .dictionary(dispatcherTrace), { $0.event.dispatchers.map { ($0.dispatcher, $0) } }),
    ])

    private static let dispatcherTrace = OutputShape<DispatcherTrace>.object([
        .required("state", .word, \.state),
        .required("at", .nullable(.time), \.at, "the time of the outcome, or of the attempt in flight"),
        .required("attempts", .nullable(.count), \.attempts, "the number of attempts, including the last one"),
        .required("last_error", .nullable(.text), \.lastError, "the last error"),
        .required("ahead", .nullable(.count), \.ahead, "the number of events of the dispatcher ahead of it"),
        .required("blocked_by", .array(.name), \.blockedBy, "the ids of the barriers that block the dispatcher"),
        .required("letter", .nullable(.positive), \.deadLetter, "the number of its dead letter"),
        .required("replayed", .bool, \.isReplayed, "true if a rewind made the event pending again"),
    ]).named("DispatcherTrace")

    static let methods = [trace]
}
