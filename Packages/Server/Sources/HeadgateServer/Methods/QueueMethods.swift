import HeadgateCore
import HeadgateData
import HeadgateWire

/// `queue.peek` and `queue.purge`.
enum QueueMethods {
    static let all = [Method("queue.peek", .observe, peek), Method("queue.purge", .control, purge)]

    static let mostPeeked = 1_000

    private static func peek(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("dispatcher")
        let limit = try call.reader.optional("limit", in: 1...mostPeeked) ?? 10
        let after = try call.reader.optional("after", in: 0...) ?? 0
        let isKnown = service.gate.peek(at: id, after: SequenceNumber(after), limit: limit) {
            [reply = call.reply] result in
            switch result {
            case .success(let page): reply.answer { $0.page(page) }
            case .failure: reply.fail(RPCError(.storage, "the queue could not be read"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(id) }
    }

    private static func purge(_ service: Service, _ call: Call) throws(RPCError) {
        let id: String = try call.reader.required("dispatcher")
        let before = try call.reader.optional("before_seq", in: 1...)
        let isKnown = service.gate.purge(id, before: before.map(SequenceNumber.init)) { [reply = call.reply] result in
            switch result {
            case .success(let count): reply.answer(["purged": .number(DataNumber(count))])
            case .failure:
                reply.fail(RPCError(.storage, "the queue is purged, but could not be written down for the next start"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(id) }
    }
}

extension RPCError {
    /// There is no dispatcher of this id.
    static func unknownDispatcher(_ id: String) -> RPCError {
        RPCError(.notFound, "there is no dispatcher \(id)")
    }
}

extension JSONWriter {
    /// The result of `queue.peek`.
    fileprivate mutating func page(_ page: QueuePage) {
        beginObject()
        member("events")
        beginArray()
        for event in page.events {
            element()
            raw(event)
        }
        endArray()
        member("next", item: page.next.map { .number(DataNumber(Int($0))) } ?? .null)
        endObject()
    }
}
