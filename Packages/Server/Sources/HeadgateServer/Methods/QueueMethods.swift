import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `queue.peek` and `queue.purge`.
struct QueueMethods: MethodFamily {
    let gate: Headgate

    private static let peek = FamilyMethod<Self>(
        "queue.peek", .read, "Returns the next pending events of a dispatcher, as they are stored.",
        changesNothing: true,
        Field("dispatcher", .string), Field(optional: "limit", .integer(1...1_000), default: 10),
        Field(
            optional: "after", .integer(0...), default: 0,
            "return the events after this sequence number (`next` of the previous page)"),
        result: page.schema, reasons: [.notFound, .storage]
    ) { parts, call, id, limit, after throws(RPCError) in
        let reply = call.reply
        // The reading of the events is charged to the session's share of this turn, because the answer comes in a later
        // turn (Behaviour X3).
        call.session.spend(answer: limit * TurnShare.answerBytes)
        let isKnown = parts.gate.peek(
            at: id, after: SequenceNumber(after), limit: limit, isAwaited: { reply.isWaiting }
        ) { result in
            switch result {
            case .success(let page): reply.answer(Self.page, page)
            case .failure: reply.fail(RPCError(.storage, "the store could not read the queue"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(id) }
    }

    private static let purge = FamilyMethod<Self>(
        "queue.purge", .control, "Deletes the pending events of a dispatcher. Events in flight are not affected.",
        Field("dispatcher", .string),
        Field(optional: "before_seq", .integer(1...), "only events with a lower sequence number"),
        result: purged.schema, reasons: [.notFound, .storage, .cancelled]
    ) { parts, call, id, before throws(RPCError) in
        let isKnown = parts.gate.purge(id, before: before.map(SequenceNumber.init)) { [reply = call.reply] result in
            switch result {
            case .success(let count): reply.answer(purged, count)
            case .failure(.store):
                reply.fail(
                    RPCError(
                        .storage,
                        "the queue is purged, but this could not be saved: the events may return at the next start"))
            case .failure(.dispatcherRemoved(let purged)):
                reply.fail(
                    RPCError(
                        .cancelled,
                        "the dispatcher \(id) was removed after \(purged) events; the rest of its queue is kept"))
            }
        }
        guard isKnown else { throw .unknownDispatcher(id) }
    }

    private static let page = OutputShape<QueuePage>.object([
        .required("events", .array(.json(.anyObject)), \.events),
        .required("next", .nullable(.positive), \.next, "the `after` of the next page; null at the end"),
    ])

    private static let purged = OutputShape<Int>.object([.required("purged", .count, \.self)])

    static let methods = [peek, purge]
}
