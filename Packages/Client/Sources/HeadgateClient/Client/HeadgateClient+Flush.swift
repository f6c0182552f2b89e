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
