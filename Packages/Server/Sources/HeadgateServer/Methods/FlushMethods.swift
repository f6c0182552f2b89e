import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `flush`, `flush.cancel` and `flush.list`.
struct FlushMethods: MethodFamily {
    let gate: Headgate
    let clientFlushes: ClientFlushes

    /// The default timeout of a flush (Behaviour F2).
    static let defaultTimeout = Duration.seconds(30)

    private static let flush = FamilyMethod<Self>(
        "flush", .track, "Sends the events that are pending now, through all flushable barriers.",
        Field(
            optional: "dispatchers", .array(of: .string, atMost: Limits.mostDispatchers),
            "the dispatchers to flush; by default all"),
        Field(optional: "wait", default: false, "true: the answer comes when the flush has ended"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 0), default: defaultTimeout, "0: no timeout"),
        Field(optional: "flush", .string(1...Limits.longestName), "an id chosen by the client, for `flush.cancel`"),
        result: FlushResult.shape.schema, reasons: [.notFound, .conflict, .limit]
    ) { parts, call, ids, waits, timeout, name throws(RPCError) in
        let waiting = WaitingReply(waits ? call.reply : nil)
        let (flushes, uid) = (parts.clientFlushes, call.session.caller.credentials.uid)
        try flushes.checkRoom(for: uid)
        let start = parts.gate.flush(id: name, dispatchers: ids, timeout: timeout == .zero ? nil : timeout) { end in
            flushes.ended(waiting.flush)
            waiting.answer(end)
        }
        switch start {
        case .success(let flush):
            waiting.flush = flush
            flushes.began(flush, by: uid)
            if !waits { call.reply.answer(FlushResult.shape, FlushResult(flush: flush)) }
        case .failure(.unknownDispatcher(let id)): throw RPCError(.notFound, "there is no dispatcher \(id)")
        case .failure(.idInUse): throw RPCError(.conflict, "a flush with this id is in progress")
        }
    }

    private static let cancel = FamilyMethod<Self>(
        "flush.cancel", .control, "Cancels a flush. Events that were not sent stay pending.",
        Field("flush", .string, "the flush's id"),
        reasons: [.notFound]
    ) { parts, call, name throws(RPCError) in
        guard parts.gate.flushes.cancel(name) else { throw RPCError(.notFound, "there is no flush \(name)") }
        call.reply.answer()
    }

    private static let list = FamilyMethod<Self>(
        "flush.list", .observe, "Returns every flush in progress, also flushes of clients that have disconnected.",
        changesNothing: true,
        result: running.schema
    ) { parts, call in
        call.reply.answer(running, parts.gate.flushes.running.map { ($0, parts.clientFlushes.uid(of: $0.id)) })
    }

    private static let running = OutputShape<[(flush: FlushSummary, uid: UInt32?)]>.object([
        .required("flushes", .array(summary), \.self)
    ])

    private static let summary = OutputShape<(flush: FlushSummary, uid: UInt32?)>.object([
        .required("flush", .name, \.flush.id, "the flush's id, for `flush.cancel`"),
        .required(
            "uid", .nullable(.count), \.uid, "the user who requested the flush; null for a flush of the daemon"),
        .required("dispatchers", .array(.name), \.flush.dispatchers), .required("since", .time, \.flush.since),
        .required(
            "timeout_ms", .nullable(.milliseconds), \.flush.timeout, "the flush's timeout; null if there is none"),
    ])

    static let methods = [flush, cancel, list]
}

/// The reply to a flush with `wait`, which is sent when the flush ends.
private final class WaitingReply {
    var flush = ""
    private let reply: Reply?

    init(_ reply: Reply?) {
        self.reply = reply
    }

    func answer(_ end: FlushAnswer) {
        reply?.answer(FlushResult.shape, FlushResult(flush: flush, end: end))
    }
}

/// The result of `flush`.
private struct FlushResult {
    let flush: String
    /// The end of the flush; nil if the client does not wait for it.
    var end: FlushAnswer?

    static let shape = OutputShape<Self>.object([
        .required("flush", .name, \.flush), .optional("ended", .word, \.end?.ended),
        .optional("dispatchers", .dictionary(part), { $0.end?.dispatchers.sorted { $0.key < $1.key } }),
    ])

    private static let part = OutputShape<FlushAnswer.Part>.object([
        .required("sent", .count, \.sent), .required("failed", .count, \.failed), .required("left", .count, \.left),
        .required("blocked_by", .array(.name), \.blockedBy),
    ])
}

/// The flushes in progress that clients requested, with their users (Behaviour X2). A flush may outlive its client's
/// connection.
final class ClientFlushes {
    private var users: [ExactName: UInt32] = [:]

    /// Throws `limit` if a user already has the most flushes that it may have in progress.
    func checkRoom(for uid: UInt32) throws(RPCError) {
        guard users.values.count(where: { $0 == uid }) >= Limits.mostFlushesPerUser else { return }
        throw RPCError(
            .limit,
            "a user has at most \(Limits.mostFlushesPerUser) flushes in progress: `headgate flushes` lists them, "
                + "`headgate flushes cancel` ends some"
        )
    }

    func began(_ flush: String, by uid: UInt32) { users[ExactName(flush)] = uid }

    func ended(_ flush: String) { users[ExactName(flush)] = nil }

    /// Returns the user who requested a flush, or nil if no client did.
    func uid(of flush: String) -> UInt32? { users[ExactName(flush)] }
}
