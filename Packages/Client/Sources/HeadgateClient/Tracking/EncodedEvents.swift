import HeadgateData

extension OutgoingEvent {
    /// An event whose data is a value of the program's own.
    /// - Parameters:
    ///   - event: its name, not empty.
    ///   - value: what there is to say about it; in JSON it must be an object.
    ///   - coder: how the value becomes JSON.
    ///   - id: by which it is told apart for ever; nil has the client make one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: when it happened, if that is not now.
    ///   - dispatchers: the ids of the dispatchers that it is for; nil is for all that want it.
    ///   - timeToLive: the time to live after the receipt.
    /// - Throws: `EncodingError` where there is no such JSON (see `DataCoder`), or what the value throws.
    public init(
        _ event: String, _ value: some Encodable, by coder: DataCoder = DataCoder(), id: String? = nil,
        key: String? = nil, time: Timestamp? = nil, dispatchers: [String]? = nil, timeToLive: Duration? = nil
    ) throws {
        self.init(
            event, data: try coder.encodeObject(value), id: id, key: key, time: time, dispatchers: dispatchers,
            timeToLive: timeToLive)
    }
}

extension HeadgateClient {
    /// Tracks an event whose data is a value of the program's own, and waits until the daemon has acknowledged it.
    ///
    /// The client's ``coder`` makes JSON of the value, before anything is sent.
    /// - Parameters:
    ///   - event: its name, not empty.
    ///   - value: what there is to say about it; in JSON it must be an object.
    ///   - id: by which it is told apart for ever; nil has the client make one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: when it happened, if that is not now.
    ///   - dispatchers: the ids of the dispatchers that it is for; nil is for all that want it.
    ///   - timeToLive: the time to live after the receipt.
    ///   - deadline: how long to wait; nil is for ever. The event may be stored later than that.
    /// - Throws: `EncodingError`, or what the value throws, and then nothing was sent; else ``ClientError``, `refused`
    ///   when the event was not stored.
    @discardableResult
    public nonisolated(nonsending) func track(
        _ event: String, _ value: some Encodable, id: String? = nil, key: String? = nil, time: Timestamp? = nil,
        dispatchers: [String]? = nil, timeToLive: Duration? = nil, deadline: Duration? = nil
    ) async throws -> TrackReceipt {
        let tracked = try OutgoingEvent(
            event, value, by: coder, id: id, key: key, time: time, dispatchers: dispatchers, timeToLive: timeToLive)
        return try await track(tracked, deadline: deadline)
    }

    /// Tracks events of one name each on its own, in their order, without waiting in between. The results are in the same
    /// order; one that is refused does not hinder the others.
    /// - Parameters:
    ///   - event: the name of each.
    ///   - values: the data of each, in this order.
    ///   - deadline: how long to wait; nil is for ever. Events may be stored later than that.
    /// - Throws: `EncodingError` or what a value throws; then nothing was sent.
    public nonisolated(nonsending) func trackEach(
        _ event: String, _ values: [some Encodable], deadline: Duration? = nil
    ) async throws -> [Result<TrackReceipt, any Error>] {
        await trackEach(try values.map { try OutgoingEvent(event, $0, by: coder) }, deadline: deadline)
    }

    /// Tracks events of one name all together: all are stored, or none. They go in one message, which the daemon bounds
    /// (`max_line_bytes`).
    /// - Parameters:
    ///   - event: the name of each.
    ///   - values: the data of each, in this order.
    ///   - deadline: how long to wait; nil is for ever. The events may be stored later than that.
    /// - Throws: `EncodingError` or what a value throws, and then nothing was sent; else ``ClientError``.
    @discardableResult
    public nonisolated(nonsending) func trackMany(
        _ event: String, _ values: [some Encodable], deadline: Duration? = nil
    ) async throws -> TrackManyReceipt {
        try await trackMany(try values.map { try OutgoingEvent(event, $0, by: coder) }, deadline: deadline)
    }
}
