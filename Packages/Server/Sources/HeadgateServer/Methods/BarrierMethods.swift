import HeadgateCore
import HeadgateData
import HeadgateWire

/// `barrier.list`.
enum BarrierMethods {
    static let all = [Method("barrier.list", .observe, list)]

    private static func list(_ service: Service, _ call: Call) throws(RPCError) {
        call.reply.answer { writer in
            writer.beginObject()
            writer.barriers(service.gate.barrierSummaries)
            writer.endObject()
        }
    }
}

extension JSONWriter {
    /// The member `barriers`, as `barrier.list` and `status` have it.
    mutating func barriers(_ summaries: [BarrierSummary]) {
        member("barriers")
        beginArray()
        for summary in summaries {
            element()
            barrier(summary)
        }
        endArray()
    }

    private mutating func barrier(_ summary: BarrierSummary) {
        beginObject()
        member("id", summary.identity.id)
        member("kind", summary.identity.kind)
        member("scopes", item: .array(summary.scopes.map { .string($0.rawValue) }))
        member("states")
        beginObject()
        for (dispatcher, state) in summary.states {
            member(key: dispatcher)
            string(state?.rawValue ?? "waiting")
        }
        endObject()
        member("flushable", summary.isFlushable)
        member("since", summary.since)
        member("owner", item: summary.identity.owner.map { .string($0) } ?? .null)
        member("word", summary.identity.word)
        member("reason", item: summary.reason.map { .string($0) } ?? .null)
        member("configuration", item: .object(summary.configuration ?? [:]))
        endObject()
    }
}
