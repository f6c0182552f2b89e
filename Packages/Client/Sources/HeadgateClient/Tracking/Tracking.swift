import HeadgateData
import HeadgateWire

extension HeadgateClient {
    /// Tracks an event, and waits until the daemon has acknowledged it: it is stored then (Behaviour P1).
    ///
    /// Events that one task tracks one after the other keep their order. While the connection is lost the call waits.
    /// - Parameters:
    ///   - event: its name, not empty.
    ///   - data: what there is to say about it.
    ///   - id: by which it is told apart for ever; nil has the client make one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: when it happened, if that is not now.
    ///   - dispatchers: the ids of the dispatchers that it is for; nil is for all that want it.
    ///   - timeToLive: the time to live after the receipt.
    ///   - deadline: how long to wait; nil is for ever. The event may be stored later than that.
    /// - Throws: ``ClientError``; `refused` with the reason `queue_full`, `storage`, `event_too_large` … when the event was
    ///   not stored.
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
    ///   - event: what is tracked.
    ///   - deadline: how long to wait; nil is for ever. The event may be stored later than that.
    @discardableResult
    public func track(_ event: OutgoingEvent, deadline: Duration? = nil) async throws -> TrackReceipt {
        try await ask(TrackReceipt.init) { $0.trackInTurn($1, event, deadline: deadline, $2) }
    }

    /// Tracks events each on its own, in their order, without waiting in between. The results are in the same order;
    /// one that is refused does not hinder the others.
    /// - Parameters:
    ///   - events: what is tracked, in this order.
    ///   - deadline: how long to wait; nil is for ever. Events may be stored later than that.
    public func trackEach(
        _ events: [OutgoingEvent], deadline: Duration? = nil
    ) async -> [Result<TrackReceipt, any Error>] {
        await askEach(events, TrackReceipt.init) { $0.trackInTurn($1, $2, deadline: deadline, $3) }
    }

    /// Tracks events all together: all are stored, or none. They go in one message, which the daemon bounds
    /// (`max_line_bytes`).
    /// - Parameters:
    ///   - events: what is tracked, in this order.
    ///   - deadline: how long to wait; nil is for ever. The events may be stored later than that.
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

    /// Tracks an event that is there as text, in the order of the calls. Completed with the result of `track`; see
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

    /// Tracks an event whose params are JSON already.
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

/// The daemon's acknowledgement of an event: it is stored with the configured durability (Behaviour P1), or there is
/// nothing to be stored.
public struct TrackReceipt: Sendable, Equatable {
    /// The event's id.
    public let id: String
    /// Its place among all events of the daemon; nil if it is unrouted.
    public let sequenceNumber: UInt64?
    /// Whether the daemon had the event already, so that it stored nothing (Behaviour Q7). That is a success: after a
    /// connection broke it is how the client learns that its event had arrived.
    public let isDuplicate: Bool
    /// Whether no dispatcher wants the event, so that it was not stored (Behaviour P3).
    public let isUnrouted: Bool

    /// Reads the result of `track`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let id = result.member("id")?.string else { throw .badAnswer("a result of track without an id") }
        self.id = id
        sequenceNumber = result.member("seq")?.int.flatMap(UInt64.init(exactly:))
        isDuplicate = result.member("duplicate")?.bool ?? false
        isUnrouted = result.member("unrouted")?.bool ?? false
    }
}

/// The daemon's acknowledgement of several events that it took together (Behaviour P1).
public struct TrackManyReceipt: Sendable, Equatable {
    /// The events' ids, in their order.
    public let ids: [String]
    /// The lowest of the events' places among all events of the daemon; nil if all are unrouted.
    public let firstSequenceNumber: UInt64?
    /// The highest of the events' places; nil if all are unrouted.
    public let lastSequenceNumber: UInt64?
    /// How many the daemon had already (Behaviour Q7).
    public let duplicates: Int
    /// How many no dispatcher wants (Behaviour P3).
    public let unrouted: Int

    /// Reads the result of `track_many`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: JSONView) throws(ClientError) {
        guard let ids = result.member("ids")?.elements else { throw .badAnswer("a result of track_many without ids") }
        self.ids = ids.compactMap(\.string)
        firstSequenceNumber = result.member("first_seq")?.int.flatMap(UInt64.init(exactly:))
        lastSequenceNumber = result.member("last_seq")?.int.flatMap(UInt64.init(exactly:))
        duplicates = result.member("duplicates")?.int.flatMap(Int.init(exactly:)) ?? 0
        unrouted = result.member("unrouted")?.int.flatMap(Int.init(exactly:)) ?? 0
    }
}
