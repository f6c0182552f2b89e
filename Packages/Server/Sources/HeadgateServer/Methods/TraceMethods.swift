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
        result: .object([.required("events", .array(event), "the oldest first")]),
        reasons: [.notFound, .storage, .limit]
    ) { parts, call, id, namespace throws(RPCError) in
        let caller = call.session.caller
        let asked = namespace.map {
            UserNamespace.requested($0, by: caller.credentials, parts.control.inForce.access)
        }
        let (quota, uid, reply) = (parts.quota, call.session.caller.credentials.uid, call.reply)
        try quota.begin(for: uid)
        parts.gate.trace(id, in: namespace == "*" ? nil : asked ?? caller.namespace, isWanted: { reply.isWaiting }) {
            result in
            quota.end(for: uid)
            switch result {
            case .success(let events) where events.isEmpty:
                reply.fail(
                    RPCError(
                        .notFound,
                        "no event \(id) is known: it was never received, or its outcome is no longer remembered"))
            case .success(let events): reply.answer { $0.traced(events, id: id) }
            case .failure: reply.fail(RPCError(.storage, "the event store could not be read"))
            }
        }
    }

    private static let event = Schema.object([
        .required("id", .name), .required("namespace", .nullable(.text), "null if it is no longer known"),
        .required("seq", .place), .required("event", .nullable(.text), "the event's name"),
        .required("received_at", .nullable(.time)), .required("dispatchers", .dictionary(way)),
    ])

    private static let way = Schema.named(
        "TracedWay",
        .object([
            .required("state", .words(of: TracedWay.State.self)),
            .required("at", .nullable(.time), "the time of the outcome, or of the attempt in flight"),
            .required("attempts", .nullable(.count), "the number of attempts, including the last one"),
            .required("last_error", .nullable(.text), "the last error"),
            .required("ahead", .nullable(.count), "the number of events of the dispatcher ahead of it"),
            .required("blocked_by", .array(.name), "the ids of the barriers that block the dispatcher"),
            .required("letter", .nullable(.place), "the number of its dead letter"),
            .required("replayed", .bool, "true if a rewind made the event pending again"),
        ]))

    static let methods = [trace]
}

extension JSONWriter {
    /// Writes the result of `event.trace`.
    fileprivate mutating func traced(_ events: [TracedEvent], id: String) {
        beginObject()
        member("events")
        beginArray()
        for event in events {
            element()
            beginObject()
            member("id", id)
            member("namespace", item: event.namespace.map { .string($0) } ?? .null)
            member("seq", event.sequenceNumber)
            member("event", item: event.name.map { .string($0) } ?? .null)
            member("received_at", item: event.receivedAt.map { .string($0.text) } ?? .null)
            member("dispatchers", item: .object(DataObject(event.dispatchers.map { ($0.dispatcher, $0.item) })))
            endObject()
        }
        endArray()
        endObject()
    }
}

extension TracedWay {
    fileprivate var item: DataItem {
        [
            "state": .string(state.rawValue), "at": at.map { .string($0.text) } ?? .null, "attempts": attempts.item,
            "last_error": lastError.map { .string($0) } ?? .null, "ahead": ahead.item,
            "blocked_by": .array(blockedBy.map { .string($0) }), "letter": letter.map { Int($0) }.item,
            "replayed": .bool(isReplayed),
        ]
    }
}

extension Int? {
    fileprivate var item: DataItem { map { .number(DataNumber($0)) } ?? .null }
}
