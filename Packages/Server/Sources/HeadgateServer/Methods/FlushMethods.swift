import HeadgateCore
import HeadgateData
import HeadgateWire

/// `flush` and `flush.cancel`.
enum FlushMethods {
    static let all = [Method("flush", .track, flush), Method("flush.cancel", .control, cancel)]

    /// How long a flush lasts when nothing is said; 0 is for ever (Behaviour F2).
    static let usualTimeout = Duration.seconds(30)

    private static func flush(_ service: Service, _ call: Call) throws(RPCError) {
        let reader = call.reader
        let ids: [String]? = try reader.optionalArray("dispatchers")
        let waits = try reader.optional("wait", as: Bool.self) ?? false
        let timeout = try reader.optionalDuration("timeout_ms") ?? usualTimeout
        let name = try reader.optional("flush", upTo: Limits.longestName)
        guard name != "" else { throw reader.fault("flush", "must not be empty") }
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

    private static func cancel(_ service: Service, _ call: Call) throws(RPCError) {
        let name: String = try call.reader.required("flush")
        guard service.gate.cancelFlush(name) else { throw RPCError(.notFound, "there is no flush \(name)") }
        call.reply.answer()
    }
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
