import HeadgateData

extension HeadgateClient {
    /// Flushes dispatchers: they send their queued events through flushable barriers (Behaviour F1).
    /// - Parameters:
    ///   - dispatchers: the ids of the dispatchers; nil for all.
    ///   - flush: an id for the flush, to cancel it; nil has the daemon choose one.
    ///   - wait: true to wait for the end.
    ///   - timeout: the longest time of the flush, in whole milliseconds; zero is unlimited, nil is the daemon's
    ///     default.
    ///   - deadline: the longest wait for the answer; nil waits for ever.
    /// - Returns: the result; nil without `wait`.
    @discardableResult
    public func flush(
        dispatchers: [String]? = nil, as flush: String? = nil, wait: Bool = false, timeout: Duration? = nil,
        deadline: Duration? = nil
    ) async throws -> FinishedFlush? {
        var params = flushParams(dispatchers, flush, timeout)
        if wait { params["wait"] = true }
        let result = try await object("flush", params, deadline)
        return wait ? try FinishedFlush(result) : nil
    }

    /// Begins a flush without waiting for its end.
    /// - Returns: the flush's id, to cancel it.
    public func beginFlush(
        dispatchers: [String]? = nil, as flush: String? = nil, timeout: Duration? = nil, deadline: Duration? = nil
    ) async throws -> String {
        let result = try await object("flush", flushParams(dispatchers, flush, timeout), deadline)
        guard let id = result.get(key: "flush", as: String.self) else {
            throw ClientError.badAnswer("the result of flush has no id")
        }
        return id
    }

    private func flushParams(_ dispatchers: [String]?, _ flush: String?, _ timeout: Duration?) -> DataObject {
        var params: DataObject = [:]
        params["dispatchers"] = dispatchers.map { .array($0.map { .string($0) }) }
        params["flush"] = flush.map { .string($0) }
        params["timeout_ms"] = timeout.map { .number(DataNumber(Int($0.milliseconds))) }
        return params
    }
}

/// The result of a flush with `wait` (Behaviour F2).
public struct FinishedFlush: Sendable, Equatable {
    /// The end of a flush.
    public enum End: String, Sendable {
        /// All its events are settled.
        case settled
        /// The timeout passed.
        case timeout
        /// A client cancelled it.
        case cancelled
    }

    /// The result for one dispatcher.
    public struct Part: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// The number of delivered events.
        public let sent: Int
        /// The number of events that are dead-lettered, expired or evicted.
        public let failed: Int
        /// The number of events that are not settled.
        public let left: Int
        /// The ids of the barriers that block these events.
        public let blockedBy: [String]
    }

    /// The flush's id.
    public let flush: String
    /// The reason why the flush ended.
    public let ended: End
    /// The result for each dispatcher, in the daemon's order.
    public let dispatchers: [Part]

    /// Reads the result of `flush` with `wait`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let ended = result.get(key: "ended", as: String.self).flatMap(End.init(rawValue:)) else {
            throw .badAnswer("the result of flush has an unknown end")
        }
        self.ended = ended
        flush = result.get(key: "flush") ?? ""
        dispatchers = (result.get(key: "dispatchers") ?? DataObject()).compactMap { id, part in
            part.get(as: DataObject.self).map { Part(dispatcher: id, $0) }
        }
    }
}

extension FinishedFlush.Part {
    fileprivate init(dispatcher: String, _ part: DataObject) {
        self.dispatcher = dispatcher
        sent = part.get(key: "sent") ?? 0
        failed = part.get(key: "failed") ?? 0
        left = part.get(key: "left") ?? 0
        blockedBy = part.get(key: "blocked_by") ?? []
    }
}
