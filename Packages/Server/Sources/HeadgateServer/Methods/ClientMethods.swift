import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `client.list`: the connected clients, their counters, why the daemon does not read a client (Behaviour O3,
/// X2), and who fills the store (Behaviour Q4).
struct ClientMethods: MethodFamily {
    let sessions: SessionRegistry
    let events: EventQueue
    let scheduler: any Scheduler

    /// The most senders in one answer.
    private static let mostSenders = 64

    private static let list = FamilyMethod<Self>(
        "client.list", .observe,
        "Returns every connected client, its counters, and why the daemon does not read from it, if so.",
        changesNothing: true,
        result: .object([
            .required("clients", .array(client)),
            .required(
                "senders", .array(sender),
                "the users and namespaces that stored events, those with most pending events first; at most 64"),
        ])
    ) { parts, call in
        call.reply.answer { writer in
            writer.beginObject()
            writer.member("clients")
            writer.beginArray()
            for session in parts.sessions.inOrder { writer.client(session, at: parts.scheduler.now) }
            writer.endArray()
            writer.member("senders")
            writer.beginArray()
            for sender in parts.events.storeUses.prefix(mostSenders) { writer.sender(sender) }
            writer.endArray()
            writer.endObject()
        }
    }

    private static let sender = Schema.object([
        .required("uid", .nullable(.count), "null for all users that are not counted one by one"),
        .required(
            "namespace", .nullable(.name), "as it is stored; null for all namespaces that are not counted one by one"),
        .required("minute_events", .count, "events stored in the last minute"),
        .required("minute_bytes", .count, "their size as JSON"),
        .required("pending_events", .count, "pending events since the daemon's start, an estimate"),
        .required("pending_bytes", .count, "their size as JSON, an estimate"),
    ])

    private static let client = Schema.object(
        SessionIdentity.members + [.required("connected_ms", .count, "time since the connection was opened")]
            + counted.map { .required($0.name, .count, $0.meaning) }
            + [
                .required("failed", .count, "Messages that were refused or failed"),
                .required("unanswered", .count, "Requests without an answer"),
                .required("output_bytes", .count, "Bytes of output that the client has not read yet"),
                .required(
                    "stopped", .nullable(stop),
                    "why the daemon does not read from the client, and for how long; null while it reads"),
            ])

    private static let stop = Schema.object([
        .required("reason", .words(of: SessionMachine.Stop.self), "the limit that is reached"),
        .required("for_ms", .count, "time since the daemon stopped reading"),
    ])

    fileprivate static func item(_ stop: Session.Stop) -> DataItem {
        .object([
            "reason": .string(stop.reason.rawValue),
            "for_ms": .number(DataNumber(Int(stop.duration.wholeMilliseconds))),
        ])
    }

    /// The counters of events that each client has, too.
    fileprivate static let counted: [EventCounter] = [.received, .duplicates, .unrouted, .rejected]

    static let methods = [list]
}

extension JSONWriter {
    fileprivate mutating func sender(_ sender: StoreShares.Sender) {
        element()
        beginObject()
        member("uid", item: sender.uid.map { .number(DataNumber(Int($0))) } ?? .null)
        member("namespace", item: sender.namespace.map { .string($0) } ?? .null)
        member("minute_events", sender.minute.events)
        member("minute_bytes", sender.minute.bytes)
        member("pending_events", sender.pending.events)
        member("pending_bytes", sender.pending.bytes)
        endObject()
    }

    fileprivate mutating func client(_ session: Session, at now: Instant) {
        element()
        beginObject()
        SessionIdentity(session).write(into: &self)
        member("connected_ms", (now - session.begin).wholeMilliseconds)
        for counter in ClientMethods.counted {
            member(key: counter.name)
            integer(session.events[counter])
        }
        member("failed", session.failures)
        member("unanswered", session.machine.account.underWay)
        member("output_bytes", session.connection.outputBytes)
        member("stopped", item: session.stop.map(ClientMethods.item) ?? .null)
        endObject()
    }
}
