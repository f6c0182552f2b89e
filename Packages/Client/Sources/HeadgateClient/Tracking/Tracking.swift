import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// Tracks an event, and waits until the daemon has acknowledged it: the event is stored then (Behaviour P1).
    ///
    /// The events that one task tracks one after the other keep their order. The call waits while the connection is
    /// lost.
    /// - Parameters:
    ///   - event: the name, not empty.
    ///   - data: the event's data.
    ///   - id: identifies the event for ever; nil has the client generate one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: the time of the event; nil is the time of its receipt.
    ///   - dispatchers: the ids of the event's dispatchers; nil is all that take it.
    ///   - timeToLive: the time after its receipt in which it is delivered.
    ///   - deadline: the longest wait; nil waits for ever. The event may be stored later.
    /// - Throws: ``ClientError``; `refused` with the reason `queue_full`, `storage`, `event_too_large` … if the event
    ///   was not stored.
    @discardableResult
    public func track(
        _ event: String, data: DataObject = [:], id: String? = nil, key: String? = nil, time: Timestamp? = nil,
        dispatchers: [String]? = nil, timeToLive: Duration? = nil, deadline: Duration? = nil
    ) async throws -> TrackReceipt {
        let tracked = OutgoingEvent(
            event, data: data, id: id, key: key, time: time, dispatchers: dispatchers, timeToLive: timeToLive)
        return try await track(tracked, deadline: deadline)
    }

    /// Tracks an event, and waits until the daemon has acknowledged it.
    /// - Parameters:
    ///   - event: the event.
    ///   - deadline: the longest wait; nil waits for ever. The event may be stored later.
    @discardableResult
    public func track(_ event: OutgoingEvent, deadline: Duration? = nil) async throws -> TrackReceipt {
        try await ask(TrackReceipt.init) { $0.trackInTurn($1, event, deadline: deadline, $2) }
    }

    /// Tracks several events, each on its own and in their order, without waiting in between. The results are in the
    /// same order. A refused event does not affect the others.
    /// - Parameters:
    ///   - events: the events in their order.
    ///   - deadline: the longest wait; nil waits for ever. Events may be stored later.
    public func trackEach(
        _ events: [OutgoingEvent], deadline: Duration? = nil
    ) async -> [Result<TrackReceipt, any Error>] {
        await askEach(events, TrackReceipt.init) { $0.trackInTurn($1, $2, deadline: deadline, $3) }
    }

    /// Tracks several events together: the daemon stores all or none. They go in one message, which the daemon limits
    /// (`max_line_bytes`).
    /// - Parameters:
    ///   - events: the events in their order.
    ///   - deadline: the longest wait; nil waits for ever. The events may be stored later.
    @discardableResult
    public func trackMany(_ events: [OutgoingEvent], deadline: Duration? = nil) async throws -> TrackManyReceipt {
        try await ask(TrackManyReceipt.init) { $0.trackManyInTurn($1, events, deadline: deadline, $2) }
    }
}

extension ClientConnection {
    /// Tracks an event, in the order of the calls. Completed with the result of `track`; see ``TrackReceipt``.
    @discardableResult
    public func track(_ event: OutgoingEvent, deadline: Duration? = nil, _ completion: @escaping Completion) -> Call {
        let call = reserve()
        let moment = deadline.map { loop.monotonicNow + $0.nanoseconds }
        track(call, event, until: moment, counted(completion))
        return call
    }

    /// Tracks an event from its text, in the order of the calls. Completed with the result of `track`; see
    /// ``TrackReceipt``.
    @discardableResult
    public func track(_ event: EventText, deadline: Duration? = nil, _ completion: @escaping Completion) -> Call {
        let call = reserve()
        let line = ClientConnection.line(call, "track") { writer in
            event.write(into: &writer, id: { ids.next(at: loop.wallNow) })
        }
        begin(call, line, isRepeatable: true, deadline: deadline, counted(completion))
        return call
    }

    /// Tracks an event from its encoded params.
    func track(params json: [UInt8], _ completion: @escaping Completion) {
        let call = reserve()
        let line = ClientConnection.line(call, "track") { $0.raw(json) }
        begin(call, line, isRepeatable: true, until: nil, counted(completion))
    }

    fileprivate func trackInTurn(
        _ call: Call, _ event: OutgoingEvent, deadline: Duration?, _ completion: @escaping Completion
    ) {
        inTurn(call, deadline: deadline, completion) { [weak self] in self?.track(call, event, until: $0, $1) }
    }

    fileprivate func trackManyInTurn(
        _ call: Call, _ events: [OutgoingEvent], deadline: Duration?, _ completion: @escaping Completion
    ) {
        inTurn(call, deadline: deadline, completion) { [weak self] in self?.trackMany(call, events, until: $0, $1) }
    }

    private func track(
        _ call: Call, _ event: OutgoingEvent, until moment: Int64?, _ completion: @escaping Completion
    ) {
        let id = event.id ?? ids.next(at: loop.wallNow)
        let line = ClientConnection.line(call, "track") { event.write(into: &$0, id: id) }
        begin(call, line, isRepeatable: true, until: moment, completion)
    }

    private func trackMany(
        _ call: Call, _ events: [OutgoingEvent], until moment: Int64?, _ completion: @escaping Completion
    ) {
        let line = ClientConnection.line(call, "track_many") { writer in
            writer.beginObject()
            writer.member("events")
            writer.beginArray()
            for event in events {
                writer.element()
                event.write(into: &writer, id: event.id ?? ids.next(at: loop.wallNow))
            }
            writer.endArray()
            writer.endObject()
        }
        begin(call, line, isRepeatable: true, until: moment, completion)
    }

    private static func line(
        _ call: Call, _ method: StaticString, params: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.request(id: call.number, method: method, params: params)
        writer.endLine()
        return writer.bytes
    }
}

/// The daemon's acknowledgement of an event. The event is stored with the configured durability (Behaviour P1), or no
/// dispatcher takes it.
public struct TrackReceipt: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// The event's number in the daemon's order of acceptance; nil if it is unrouted.
    public let sequenceNumber: UInt64?
    /// True if the daemon had stored the id before, so it stored nothing (Behaviour Q7). That is a success: after a
    /// lost connection the client learns in this way that its event had arrived.
    public let isDuplicate: Bool
    /// True if no dispatcher takes the event, so it was not stored (Behaviour P3).
    public let isUnrouted: Bool

    /// Reads the result of `track`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let id = result.member("id")?.string else { throw .badAnswer("the result of track has no id") }
        self.id = id
        sequenceNumber = result.member("seq")?.int.flatMap(UInt64.init(exactly:))
        isDuplicate = result.member("duplicate")?.bool ?? false
        isUnrouted = result.member("unrouted")?.bool ?? false
    }
}

/// The daemon's acknowledgement of several events together (Behaviour P1).
public struct TrackManyReceipt: Sendable, Equatable {
    /// The events' ids in their order.
    public let ids: [String]
    /// The lowest number of the events; nil if all are unrouted.
    public let firstSequenceNumber: UInt64?
    /// The highest number of the events; nil if all are unrouted.
    public let lastSequenceNumber: UInt64?
    /// The number of events that the daemon had stored before (Behaviour Q7).
    public let duplicates: Int
    /// The number of events that no dispatcher takes (Behaviour P3).
    public let unrouted: Int

    /// Reads the result of `track_many`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let ids = result.member("ids")?.elements else { throw .badAnswer("the result of track_many has no ids") }
        self.ids = ids.compactMap(\.string)
        firstSequenceNumber = result.member("first_seq")?.int.flatMap(UInt64.init(exactly:))
        lastSequenceNumber = result.member("last_seq")?.int.flatMap(UInt64.init(exactly:))
        duplicates = result.member("duplicates")?.int.flatMap(Int.init(exactly:)) ?? 0
        unrouted = result.member("unrouted")?.int.flatMap(Int.init(exactly:)) ?? 0
    }
}
