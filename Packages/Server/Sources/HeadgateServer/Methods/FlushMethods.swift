import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `flush`, `flush.cancel` and `flush.list`.
struct FlushMethods: MethodFamily {
    let gate: Headgate
    let clientFlushes: ClientFlushes

    /// The default timeout of a flush (Behaviour F2).
    static let usualTimeout = Duration.seconds(30)

    private static let flush = FamilyMethod<Self>(
        "flush", .track, "Sends what is queued now, flushable barriers or not.",
        Field(optional: "dispatchers", .array(of: .string), "all, if nothing is said"),
        Field(optional: "wait", usually: false, "answers when it has ended"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 0), usually: usualTimeout, "0 is none"),
        Field(optional: "flush", .string(1...Limits.longestName), "an id of the client's choice, to cancel it by"),
        result: .object([
            .required("flush", .name), .optional("ended", .words(["settled", "timeout", "cancelled"])),
            .optional("dispatchers", .dictionary(part)),
        ]), reasons: [.notFound, .conflict, .limit]
    ) { parts, call, ids, waits, timeout, name throws(RPCError) in
        let waiting = WaitingReply(waits ? call.reply : nil)
        let (asked, uid) = (parts.clientFlushes, call.session.caller.credentials.uid)
        try asked.checkRoom(for: uid)
        let start = parts.gate.flush(id: name, dispatchers: ids, timeout: timeout == .zero ? nil : timeout) { end in
            asked.ended(waiting.flush)
            waiting.answer(end)
        }
        switch start {
        case .success(let flush):
            waiting.flush = flush
            asked.began(flush, by: uid)
            if !waits { call.reply.answer(["flush": .string(flush)]) }
        case .failure(.unknownDispatcher(let id)): throw RPCError(.notFound, "there is no dispatcher \(id)")
        case .failure(.idInUse): throw RPCError(.conflict, "a flush of this id is under way")
        }
    }

    private static let part = Schema.object([
        .required("sent", .count), .required("failed", .count), .required("left", .count),
        .required("blocked_by", .array(.name)),
    ])

    private static let cancel = FamilyMethod<Self>(
        "flush.cancel", .control, "Ends a flush. Unsent events wait again.", Field("flush", .string, "its id"),
        reasons: [.notFound]
    ) { parts, call, name throws(RPCError) in
        guard parts.gate.cancelFlush(name) else { throw RPCError(.notFound, "there is no flush \(name)") }
        call.reply.answer()
    }

    private static let list = FamilyMethod<Self>(
        "flush.list", .observe, "All running flushes, also of disconnected clients.", changesNothing: true,
        result: .object([.required("flushes", .array(summary))])
    ) { parts, call in
        call.reply.answer { writer in
            writer.beginObject()
            writer.member("flushes")
            writer.beginArray()
            for flush in parts.gate.runningFlushes {
                writer.element()
                writer.object(flush.object(askedBy: parts.clientFlushes.uid(of: flush.id)))
            }
            writer.endArray()
            writer.endObject()
        }
    }

    private static let summary = Schema.object([
        .required("flush", .name, "its id, for `flush.cancel`"),
        .required("uid", .nullable(.count), "the user who asked for it; null for the service's own"),
        .required("dispatchers", .array(.name)), .required("since", .time),
        .required("timeout_ms", .nullable(.count), "after which it ends in any case; null: never"),
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
        reply?.answer { writer in
            writer.beginObject()
            writer.member("flush", flush)
            writer.member("ended", end.ended.rawValue)
            writer.member("dispatchers")
            writer.beginObject()
            for (id, part) in end.dispatchers.sorted(by: { $0.key < $1.key }) {
                writer.member(key: id)
                writer.object(part.object)
            }
            writer.endObject()
            writer.endObject()
        }
    }
}

extension FlushAnswer.Part {
    fileprivate var object: DataObject {
        [
            "sent": .number(DataNumber(sent)), "failed": .number(DataNumber(failed)),
            "left": .number(DataNumber(left)), "blocked_by": .array(blockedBy.map { .string($0) }),
        ]
    }
}

extension FlushSummary {
    fileprivate func object(askedBy uid: UInt32?) -> DataObject {
        [
            "flush": .string(id), "uid": uid.map { .number(DataNumber(Int($0))) } ?? .null,
            "dispatchers": .array(dispatchers.map { .string($0) }), "since": .string(since.text),
            "timeout_ms": timeout.milliseconds,
        ]
    }
}

/// The flushes in progress that clients requested, with their users (Behaviour X2). A flush may outlive its client's
/// connection.
final class ClientFlushes {
    private var users: [String: UInt32] = [:]

    /// Throws `limit` if a user has the most flushes in progress.
    func checkRoom(for uid: UInt32) throws(RPCError) {
        guard users.values.count(where: { $0 == uid }) >= Limits.mostFlushesPerUser else { return }
        throw RPCError(
            .limit,
            "a user may have no more than \(Limits.mostFlushesPerUser) flushes under way: `headgate flushes` shows them, "
                + "`headgate flushes cancel` ends some"
        )
    }

    func began(_ flush: String, by uid: UInt32) { users[flush] = uid }

    func ended(_ flush: String) { users[flush] = nil }

    /// Returns the user who requested a flush, or nil if no client did.
    func uid(of flush: String) -> UInt32? { users[flush] }
}
