import HeadgateData

extension HeadgateClient {
    /// Has dispatchers send what they have queued, through flushable barriers (Behaviour F1).
    /// - Parameters:
    ///   - dispatchers: the ids of those to flush; nil for all.
    ///   - flush: an id for it, to cancel it by; nil has the daemon choose.
    ///   - wait: whether to wait for the end.
    ///   - timeout: how long the flush lasts at most, to the millisecond; zero is for ever, nil as long as the daemon
    ///     usually gives it.
    ///   - deadline: how long to wait for the answer; nil is for ever.
    /// - Returns: how it ended; nil unless it was waited for.
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

    /// Begins a flush, and does not wait for its end.
    /// - Returns: its id, to cancel it by.
    public func beginFlush(
        dispatchers: [String]? = nil, as flush: String? = nil, timeout: Duration? = nil, deadline: Duration? = nil
    ) async throws -> String {
        let result = try await object("flush", flushParams(dispatchers, flush, timeout), deadline)
        guard let id = result.get(key: "flush", as: String.self) else {
            throw ClientError.badAnswer("a result of flush without its id")
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

/// How a flush ended that was waited for (Behaviour F2).
public struct FinishedFlush: Sendable, Equatable {
    /// How a flush can end.
    public enum End: String, Sendable {
        /// All that it covered is settled.
        case settled
        /// Its time ran out.
        case timeout
        /// Somebody cancelled it.
        case cancelled
    }

    /// What it did for one dispatcher.
    public struct Part: Sendable, Equatable {
        /// The dispatcher's id.
        public let dispatcher: String
        /// Events delivered.
        public let sent: Int
        /// Events dead, expired or evicted.
        public let failed: Int
        /// Events that are not settled.
        public let left: Int
        /// The ids of the barriers that hold what is left.
        public let blockedBy: [String]
    }

    /// The flush's id.
    public let flush: String
    /// How it ended.
    public let ended: End
    /// What it did for each dispatcher, in the daemon's order.
    public let dispatchers: [Part]

    /// Reads the result of `flush` with `wait`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let ended = result.get(key: "ended", as: String.self).flatMap(End.init(rawValue:)) else {
            throw .badAnswer("a flush that did not end in a known way")
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
