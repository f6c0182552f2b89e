import HeadgateCore
import HeadgateData
import HeadgateWire

/// The method `client.list`: the connected clients, their counters, why the daemon does not read a client (Behaviour
/// O3, X2), and the users and namespaces that fill the store (Behaviour Q4).
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
        result: result.schema
    ) { parts, call in
        let now = parts.scheduler.now
        let clients = parts.sessions.inOrder.map { (session: $0, now: now) }
        call.reply.answer(result, (clients, Array(parts.events.storeUses.prefix(mostSenders))))
    }

    private typealias Clients = [(session: Session, now: Instant)]

    private static let result = OutputShape<(clients: Clients, senders: [StoreShares.Sender])>.object([
        .required("clients", .array(client), \.clients),
        .required(
            "senders", .array(sender), \.senders,
            "the users and namespaces that stored events, those with most pending events first; at most 64"),
    ])

    private static let sender = OutputShape<StoreShares.Sender>.object([
        .required("uid", .nullable(.count), \.uid, "null for all users that are not counted one by one"),
        .required(
            "namespace", .nullable(.name), \.namespace,
            "as it is stored; null for all namespaces that are not counted one by one"),
        .required("minute_events", .count, \.minute.events, "events stored in the last minute"),
        .required("minute_bytes", .count, \.minute.bytes, "their size as JSON"),
        .required(
            "pending_events", .count, \.pending.events, "pending events since the daemon's start, an estimate"),
        .required("pending_bytes", .count, \.pending.bytes, "their size as JSON, an estimate"),
    ])

    private static let client = OutputShape<Clients.Element>.object([
        SessionIdentity.members.of { SessionIdentity($0.session) },
        .required(
            "connected_ms", .milliseconds, { $0.now - $0.session.begin }, "time since the connection was opened"),
        .all(
            counted.map { counter in
                .required(key: counter.name, .count, { $0.session.events[counter] }, counter.meaning)
            }),
        .required("failed", .count, \.session.failures, "Messages that were refused or failed"),
        .required("unanswered", .count, \.session.machine.account.inProgress, "Requests without an answer"),
        .required(
            "output_bytes", .count, \.session.connection.outputBytes,
            "Bytes of output that the client has not read yet"),
        .required(
            "stopped", .nullable(stop), \.session.stop,
            "why the daemon does not read from the client, and for how long; null while it reads"),
    ])

    private static let stop = OutputShape<Session.Stop>.object([
        .required("reason", .word, \.reason, "the limit that is reached"),
        .required("for_ms", .milliseconds, \.duration, "time since the daemon stopped reading"),
    ])

    /// The event counters that are kept for each client as well as for the whole daemon.
    private static let counted: [EventCounter] = [.received, .duplicates, .unrouted, .rejected]

    static let methods = [list]
}
