import HeadgateData

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
    ///   - timeToLive: how long after its receipt it is worth delivering.
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
        try await ask(TrackReceipt.init) { $0.track($1, event, deadline: deadline, $2) }
    }

    /// Tracks events each on its own, in their order, without waiting in between. The results are in the same order;
    /// one that is refused does not hinder the others.
    /// - Parameters:
    ///   - events: what is tracked, in this order.
    ///   - deadline: how long to wait; nil is for ever. Events may be stored later than that.
    public func trackEach(
        _ events: [OutgoingEvent], deadline: Duration? = nil
    ) async -> [Result<TrackReceipt, any Error>] {
        await askEach(events, TrackReceipt.init) { $0.track($1, $2, deadline: deadline, $3) }
    }

    /// Tracks events all together: all are stored, or none. They go in one message, which the daemon bounds
    /// (`max_line_bytes`).
    /// - Parameters:
    ///   - events: what is tracked, in this order.
    ///   - deadline: how long to wait; nil is for ever. The events may be stored later than that.
    @discardableResult
    public func trackMany(_ events: [OutgoingEvent], deadline: Duration? = nil) async throws -> TrackManyReceipt {
        try await ask(TrackManyReceipt.init) { $0.trackMany($1, events, deadline: deadline, $2) }
    }
}
