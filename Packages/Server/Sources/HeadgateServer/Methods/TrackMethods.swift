import HeadgateCore
import HeadgateData
import HeadgateWire

/// `track` and `track_many`.
enum TrackMethods {
    static let all = [Method("track", .track, track), Method("track_many", .track, trackMany)]

    /// For a `track` in a batch or without an id; the others take the session's hot path.
    private static func track(_ service: Service, _ call: Call) throws(RPCError) {
        let (event, admission) = try service.tracking.track(call.params, from: call.session)
        let id = Array(event.id)
        answer(service, call, events: 1) { writer in
            id.withUnsafeBytes { writer.acknowledgement(of: $0, admission) }
        }
    }

    /// All or none, and all go into one group.
    private static func trackMany(_ service: Service, _ call: Call) throws(RPCError) {
        let views = try events(call)
        var summary = TrackSummary()
        try service.tracking.track(all: views, from: call.session) { summary.add($0, $1) }
        answer(service, call, events: views.count) { [summary] in summary.write(into: &$0) }
    }

    private static func events(_ call: Call) throws(RPCError) -> [JSONView] {
        guard let events = call.params?.member("events") else { throw call.reader.fault("events", "is missing") }
        guard let elements = events.elements else { throw call.reader.fault("events", "must be an array") }
        return Array(elements)
    }

    /// Answers once the events are safe.
    private static func answer(
        _ service: Service, _ call: Call, events: Int, _ write: @escaping (inout JSONWriter) -> Void
    ) {
        call.session.whenCommitted { [reply = call.reply, tracking = service.tracking] fault in
            if let fault { reply.fail(tracking.refusal(of: events, fault)) } else { reply.answer(write) }
        }
    }
}

/// What `track_many` answers.
private struct TrackSummary {
    private var ids = JSONWriter()
    private var first: SequenceNumber?
    private var last: SequenceNumber?
    private var duplicates = 0
    private var unrouted = 0

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

    func write(into writer: inout JSONWriter) {
        writer.raw(#"{"ids":["#)
        writer.raw(ids.bytes)
        writer.raw("]")
        if let first, let last {
            writer.raw(#","first_seq":"#)
            writer.integer(first)
            writer.raw(#","last_seq":"#)
            writer.integer(last)
        }
        writer.raw(#","duplicates":"#)
        writer.integer(duplicates)
        writer.raw(#","unrouted":"#)
        writer.integer(unrouted)
        writer.raw("}")
    }
}
