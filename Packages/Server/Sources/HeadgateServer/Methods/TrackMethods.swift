import HeadgateCore
import HeadgateData
import HeadgateWire

/// The methods `track` and `track_many`.
struct TrackMethods: MethodFamily {
    let tracking: EventTracker

    private static let reasons: [ErrorReason] = [.queueFull, .eventTooLarge, .storage, .limit, .shuttingDown]

    /// The method for `track` in a JSON-RPC batch or as a notification. The session itself handles every other `track`,
    /// on its hot path.
    private static let track = FamilyMethod<Self>(
        "track", .track, "Tracks an event. The answer comes once the event is stored.",
        readingItself: EventReader.members,
        result: .object([
            .required("id", .name), .optional("seq", .positive, "its sequence number, in the order of receipt"),
            .optional("duplicate", .bool, "true: an event with this id was already stored; this one is not stored"),
            .optional("unrouted", .bool, "true: no dispatcher accepts the event, so it is not stored"),
        ]), reasons: reasons
    ) { parts, call, params throws(RPCError) in
        let (eventID, admission) = try parts.tracking.track(params, from: call.session)
        let id = Array(eventID)
        parts.answer(call, events: 1) { writer in
            id.withUnsafeBytes { writer.acknowledgement(of: $0, admission) }
        }
    }

    /// All events of a call are stored in one commit group, or none is.
    private static let trackMany = FamilyMethod<Self>(
        "track_many", .track, "Tracks several events atomically: all are stored, or none.",
        readingItself: [.required("events", .array(.named("TrackedEvent", .object(EventReader.members))))],
        result: TrackSummary.shape.schema, reasons: reasons
    ) { parts, call, params throws(RPCError) in
        let views = try events(params)
        var summary = TrackSummary()
        try parts.tracking.track(all: views, from: call.session) { summary.add($0, $1) }
        parts.answer(call, events: views.count) { [summary] in TrackSummary.shape.write(summary, &$0) }
    }

    private static func events(_ params: JSONView?) throws(RPCError) -> [JSONView] {
        guard let events = params?.member("events") else { throw .invalidParams(path: "events", "is missing") }
        guard let elements = events.elements else { throw .invalidParams(path: "events", "must be an array") }
        return Array(elements)
    }

    /// Answers after the commit of the events.
    private func answer(_ call: Call, events: Int, _ write: @escaping (inout JSONWriter) -> Void) {
        call.session.whenCommitted { [reply = call.reply, session = call.session, tracking] fault in
            guard let fault else { return reply.answer(write) }
            reply.fail(tracking.refusal(of: events, from: session, fault))
        }
    }

    static let methods = [track, trackMany]
}

/// The result of `track_many`.
private struct TrackSummary {
    /// The IDs as they were sent, separated by commas.
    private var ids = JSONWriter()
    private var first: SequenceNumber?
    private var last: SequenceNumber?
    private var duplicates = 0
    private var unrouted = 0

    static let shape = OutputShape<TrackSummary>.object([
        .required("ids", idList, \.ids.bytes),
        .optional("first_seq", .positive, \.first, "absent if all events are unrouted"),
        .optional("last_seq", .positive, \.last, "likewise"), .required("duplicates", .count, \.duplicates),
        .required("unrouted", .count, \.unrouted),
    ])

    private static let idList = OutputShape<[UInt8]>(.array(.name)) { ids, writer in
        writer.raw("[")
        writer.raw(ids)
        writer.raw("]")
    }

    mutating func add(_ event: TrackedEvent, _ admission: Admission) {
        ids.element()
        ids.raw(event.id)
        switch admission {
        case .stored(let number): note(number)
        case .duplicate(let number):
            duplicates += 1
            note(number)
        case .unrouted, .queueFull, .tooLarge: unrouted += 1
        }
    }

    private mutating func note(_ number: SequenceNumber) {
        first = min(first ?? number, number)
        last = max(last ?? number, number)
    }
}
