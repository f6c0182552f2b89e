import HeadgateCore
import HeadgateData
import HeadgateWire

/// `dispatcher.list`, `dispatcher.pause` and `dispatcher.resume`.
enum DispatcherMethods {
    static let all = [
        Method("dispatcher.list", .observe, list), Method("dispatcher.pause", .control, pause),
        Method("dispatcher.resume", .control, resume),
    ]

    private static func list(_ service: Service, _ call: Call) throws(RPCError) {
        call.reply.answer { writer in
            writer.beginObject()
            writer.dispatchers(service.gate.dispatcherSummaries)
            writer.endObject()
        }
    }

    private static func pause(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("id")
        let reason = try call.reader.optional("reason", upTo: Limits.longestReason)
        let isFlushable = try call.reader.optional("flushable", as: Bool.self) ?? false
        let isKnown = service.gate.pause(id, reason: reason, isFlushable: isFlushable, then: answer(call.reply))
        guard isKnown else { throw RPCError(.notFound, "there is no dispatcher \(id)") }
    }

    private static func resume(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("id")
        let reason = try call.reader.optional("reason", upTo: Limits.longestReason)
        guard service.gate.resume(id, then: answer(call.reply)) else {
            throw RPCError(.notFound, "there is no dispatcher \(id)")
        }
        // An open barrier has no reason to show: whoever looks later finds it in the log.
        if let reason { service.log.notice("dispatcher \(id) is resumed: \(reason)") }
    }

    private static func answer(_ reply: Reply) -> (StoreFault?) -> Void {
        { fault in
            guard fault == nil else {
                return reply.fail(RPCError(.storage, "it is so now, but could not be written down for the next start"))
            }
            reply.answer()
        }
    }
}

extension JSONWriter {
    /// The member `dispatchers`, as `dispatcher.list` and `status` have it.
    mutating func dispatchers(_ summaries: [DispatcherSummary]) {
        member("dispatchers")
        beginArray()
        for summary in summaries {
            element()
            dispatcher(summary)
        }
        endArray()
    }

    private mutating func dispatcher(_ summary: DispatcherSummary) {
        beginObject()
        member("id", summary.id)
        member("kind", summary.kind)
        member("way", summary.isOpen ? "open" : "closed")
        member("blocked_by", item: .array(summary.blockedBy.map { .string($0) }))
        member("pending", summary.pending)
        member("in_flight", summary.inFlight)
        member("sent", summary.sent)
        member("failed", summary.failed)
        member("dead", summary.dead)
        member("expired", summary.expired)
        member("evicted", summary.evicted)
        member("oldest_ms", item: summary.oldest.milliseconds)
        member("retry_at", item: summary.retryAt.map { .string($0.text) } ?? .null)
        member("last_error", item: summary.lastError.map { .string($0) } ?? .null)
        member("flushing", summary.isFlushing)
        endObject()
    }
}

extension Duration? {
    /// As a member whose name ends in `_ms`.
    var milliseconds: DataItem {
        map { .number(DataNumber(Int($0.wholeMilliseconds))) } ?? .null
    }
}
