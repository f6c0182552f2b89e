import HeadgateData

extension OutgoingEvent {
    /// Creates an event from a value of the program.
    /// - Parameters:
    ///   - event: the name, not empty.
    ///   - value: the data, which must be an object in JSON.
    ///   - coder: encodes the value.
    ///   - id: identifies the event for ever; nil has the client generate one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: the time of the event; nil is the time of its receipt.
    ///   - dispatchers: the ids of the event's dispatchers; nil is all that take it.
    ///   - timeToLive: the time after its receipt in which it is delivered.
    /// - Throws: `EncodingError` if there is no such JSON (see `DataCoder`), or an error of the value.
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
    /// Tracks an event whose data is a value of the program, and waits until the daemon has acknowledged it.
    ///
    /// The client's ``coder`` encodes the value before anything is sent.
    /// - Parameters:
    ///   - event: the name, not empty.
    ///   - value: the data, which must be an object in JSON.
    ///   - id: identifies the event for ever; nil has the client generate one.
    ///   - key: events of one key are delivered in their order (Behaviour Q2).
    ///   - time: the time of the event; nil is the time of its receipt.
    ///   - dispatchers: the ids of the event's dispatchers; nil is all that take it.
    ///   - timeToLive: the time after its receipt in which it is delivered.
    ///   - deadline: the longest wait; nil waits for ever. The event may be stored later.
    /// - Throws: `EncodingError` or an error of the value, and then nothing was sent; otherwise ``ClientError``,
    ///   `refused` if the event was not stored.
    @discardableResult
    public nonisolated(nonsending) func track(
        _ event: String, _ value: some Encodable, id: String? = nil, key: String? = nil, time: Timestamp? = nil,
        dispatchers: [String]? = nil, timeToLive: Duration? = nil, deadline: Duration? = nil
    ) async throws -> TrackReceipt {
        let tracked = try OutgoingEvent(
            event, value, by: coder, id: id, key: key, time: time, dispatchers: dispatchers, timeToLive: timeToLive)
        return try await track(tracked, deadline: deadline)
    }

    /// Tracks several events of one name, each on its own and in their order, without waiting in between. The results
    /// are in the same order. A refused event does not affect the others.
    /// - Parameters:
    ///   - event: the name of each event.
    ///   - values: the data of each event.
    ///   - deadline: the longest wait; nil waits for ever. Events may be stored later.
    /// - Throws: `EncodingError` or an error of a value; then nothing was sent.
    public nonisolated(nonsending) func trackEach(
        _ event: String, _ values: [some Encodable], deadline: Duration? = nil
    ) async throws -> [Result<TrackReceipt, any Error>] {
        await trackEach(try values.map { try OutgoingEvent(event, $0, by: coder) }, deadline: deadline)
    }

    /// Tracks several events of one name together: the daemon stores all or none. They go in one message, which the
    /// daemon limits (`max_line_bytes`).
    /// - Parameters:
    ///   - event: the name of each event.
    ///   - values: the data of each event.
    ///   - deadline: the longest wait; nil waits for ever. The events may be stored later.
    /// - Throws: `EncodingError` or an error of a value, and then nothing was sent; otherwise ``ClientError``.
    @discardableResult
    public nonisolated(nonsending) func trackMany(
        _ event: String, _ values: [some Encodable], deadline: Duration? = nil
    ) async throws -> TrackManyReceipt {
        try await trackMany(try values.map { try OutgoingEvent(event, $0, by: coder) }, deadline: deadline)
    }
}
