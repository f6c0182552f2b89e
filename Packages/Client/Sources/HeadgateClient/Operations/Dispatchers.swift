import HeadgateData

/// A dispatcher as the daemon shows it (Protocol, `dispatcher.list`).
public struct ListedDispatcher: Sendable, Equatable {
    /// The dispatcher's id.
    public let id: String
    /// The dispatcher's kind.
    public let kind: String
    /// Whether its events may go on now.
    public let isOpen: Bool
    /// The ids of the barriers that hold it now.
    public let blockedBy: [String]
    /// Events queued and not in flight.
    public let pending: Int
    /// Events on their way.
    public let inFlight: Int
    /// Events delivered.
    public let sent: Int
    /// Attempts that failed.
    public let failed: Int
    /// Events dead-lettered.
    public let dead: Int
    /// Events that were kept too long.
    public let expired: Int
    /// Events that had to make room for newer ones.
    public let evicted: Int
    /// The age of the oldest event that is not settled; nil when there is none.
    public let oldest: Duration?
    /// When it tries again; nil while it does not wait.
    public let retryAt: Timestamp?
    /// The cause of the last failed attempt; nil after a success.
    public let lastError: String?
    /// The time of that attempt; nil after a success, or where the daemon does not tell.
    public let lastErrorAt: Timestamp?
    /// Whether it is being flushed.
    public let isFlushing: Bool

    /// Reads an entry of `dispatcher.list`. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        func count(_ key: String) -> Int { entry.get(key: key) ?? 0 }
        id = entry.get(key: "id") ?? ""
        kind = entry.get(key: "kind") ?? ""
        isOpen = entry.get(key: "state", as: String.self) == "open"
        blockedBy = entry.get(key: "blocked_by") ?? []
        pending = count("pending")
        inFlight = count("in_flight")
        sent = count("sent")
        failed = count("failed")
        dead = count("dead")
        expired = count("expired")
        evicted = count("evicted")
        oldest = entry.get(key: "oldest_ms", as: Int.self).map { .milliseconds($0) }
        retryAt = entry.get(key: "retry_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        lastError = entry.get(key: "last_error")
        lastErrorAt = entry.get(key: "last_error_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        isFlushing = entry.get(key: "flushing") ?? false
    }

    /// Reads the member `dispatchers` of `dispatcher.list` or `status`; nil if there is none.
    public static func list(in result: DataObject) -> [ListedDispatcher]? {
        result.get(key: "dispatchers", as: [DataObject].self)?.map(ListedDispatcher.init)
    }
}

extension HeadgateClient {
    /// Closes the way to a dispatcher by its ManualBarrier, which survives a restart (Behaviour B23).
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - reason: why, for people.
    ///   - flushable: whether flushes go through all the same.
    ///   - deadline: how long to wait; nil is for ever.
    public func pause(
        _ dispatcher: String, reason: String? = nil, flushable: Bool = false, deadline: Duration? = nil
    ) async throws {
        var params: DataObject = ["id": .string(dispatcher)]
        params["reason"] = reason.map { .string($0) }
        if flushable { params["flushable"] = true }
        _ = try await object("dispatcher.pause", params, deadline)
    }

    /// Opens a dispatcher's ManualBarrier again (Behaviour B23).
    public func resume(_ dispatcher: String, deadline: Duration? = nil) async throws {
        _ = try await object("dispatcher.resume", ["id": .string(dispatcher)], deadline)
    }

    /// All dispatchers, with what they have done and what holds them.
    public func dispatchers(deadline: Duration? = nil) async throws -> [ListedDispatcher] {
        let result = try await object("dispatcher.list", [:], deadline)
        guard let dispatchers = ListedDispatcher.list(in: result) else {
            throw ClientError.badAnswer("a result of dispatcher.list without dispatchers")
        }
        return dispatchers
    }
}
