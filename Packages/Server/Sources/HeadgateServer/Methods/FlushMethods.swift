import HeadgateCore
import HeadgateData
import HeadgateWire

/// `flush` and `flush.cancel`.
enum FlushMethods {
    /// How long a flush lasts when nothing is said; 0 is for ever (Behaviour F2).
    static let usualTimeout = Duration.seconds(30)

    private static let flush = Method(
        "flush", .track, "Sends what is queued now, flushable barriers or not.",
        Field(optional: "dispatchers", .array(of: .string), "all, if nothing is said"),
        Field(optional: "wait", usually: false, "answers when it has ended"),
        Field(optional: "timeout_ms", .milliseconds(atLeast: 0), usually: usualTimeout, "0 is none"),
        Field(optional: "flush", .string(1...Limits.longestName), "an id of the client's choice, to cancel it by"),
        result: .object([
            .required("flush", .name), .optional("ended", .words(["settled", "timeout", "cancelled"])),
            .optional("dispatchers", .dictionary(part)),
        ]), reasons: [.notFound, .conflict, .limit]
    ) { service, call, ids, waits, timeout, name throws(RPCError) in
        let waiting = WaitingReply(waits ? call.reply : nil)
        let (quota, uid) = (service.flushQuota, call.session.caller.credentials.uid)
        try quota.begin(for: uid)
        let start = service.gate.flush(id: name, dispatchers: ids, timeout: timeout == .zero ? nil : timeout) { end in
            quota.end(for: uid)
            waiting.answer(end)
        }
        if case .failure = start { quota.end(for: uid) }
        switch start {
        case .success(let flush):
            waiting.flush = flush
            if !waits { call.reply.answer(["flush": .string(flush)]) }
        case .failure(.unknownDispatcher(let id)): throw RPCError(.notFound, "there is no dispatcher \(id)")
        case .failure(.idInUse): throw RPCError(.conflict, "a flush of this id is under way")
        }
    }

    private static let part = Schema.object([
        .required("sent", .count), .required("failed", .count), .required("left", .count),
        .required("blocked_by", .array(.name)),
    ])

    private static let cancel = Method(
        "flush.cancel", .control, "Ends a flush; what it did not send waits again.", Field("flush", .string, "its id"),
        reasons: [.notFound]
    ) { service, call, name throws(RPCError) in
        guard service.gate.cancelFlush(name) else { throw RPCError(.notFound, "there is no flush \(name)") }
        call.reply.answer()
    }

    static let family = MethodFamily(methods: [flush, cancel])
}

/// Answers a flush's `wait` when it has ended.
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

/// How many flushes each user has under way (Behaviour X2). By user: they outlive the connections that asked for them.
final class FlushQuota {
    private var underWay: [UInt32: Int] = [:]

    /// Takes note that a user has one more; throws when that would be too many.
    func begin(for uid: UInt32) throws(RPCError) {
        let count = underWay[uid, default: 0]
        guard count < Limits.mostFlushesPerUser else {
            throw RPCError(.limit, "a user may have no more than \(Limits.mostFlushesPerUser) flushes under way")
        }
        underWay[uid] = count + 1
    }

    /// One of a user's has ended, or did not begin.
    func end(for uid: UInt32) {
        let left = underWay[uid, default: 1] - 1
        underWay[uid] = left > 0 ? left : nil
    }
}
