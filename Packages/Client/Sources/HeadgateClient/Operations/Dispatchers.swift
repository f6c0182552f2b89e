import HeadgateData

/// A dispatcher as the daemon lists it (Protocol, `dispatcher.list`).
public struct ListedDispatcher: Sendable, Equatable {
    /// The dispatcher's id.
    public let id: String
    /// The dispatcher's kind.
    public let kind: String
    /// True if no barrier blocks the dispatcher.
    public let isOpen: Bool
    /// The ids of the barriers that block the dispatcher.
    public let blockedBy: [String]
    /// The number of events that are queued and not in flight.
    public let pending: Int
    /// The number of events in flight.
    public let inFlight: Int
    /// The number of delivered events.
    public let sent: Int
    /// The number of failed attempts.
    public let failed: Int
    /// The number of dead-lettered events.
    public let dead: Int
    /// The number of events that were kept too long.
    public let expired: Int
    /// The number of events that were removed to make room for newer ones.
    public let evicted: Int
    /// The age of the oldest event that is not settled; nil if there is none.
    public let oldest: Duration?
    /// The time of the next attempt; nil if the dispatcher is not backing off.
    public let retryAt: Timestamp?
    /// The cause of the last failed attempt; nil after a success.
    public let lastError: String?
    /// The time of that attempt; nil after a success, or if the daemon does not report it.
    public let lastErrorAt: Timestamp?
    /// True while the dispatcher is being flushed.
    public let isFlushing: Bool
    /// The number of times that the dispatcher was rewound (Behaviour R2).
    public let rewinds: Int

    /// Reads an entry of `dispatcher.list`. Missing members are empty.
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
        rewinds = count("rewinds")
    }

    /// Reads the member `dispatchers` of `dispatcher.list` or `status`. Returns nil if it is absent.
    public static func list(in result: DataObject) -> [ListedDispatcher]? {
        result.get(key: "dispatchers", as: [DataObject].self)?.map(ListedDispatcher.init)
    }
}

extension HeadgateClient {
    /// Pauses a dispatcher by its ManualBarrier, also across restarts (Behaviour B23).
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - reason: a text for people.
    ///   - flushable: true if flushes pass all the same.
    ///   - deadline: the longest wait; nil waits for ever.
    public func pause(
        _ dispatcher: String, reason: String? = nil, flushable: Bool = false, deadline: Duration? = nil
    ) async throws {
        var params: DataObject = ["id": .string(dispatcher)]
        params["reason"] = reason.map { .string($0) }
        if flushable { params["flushable"] = true }
        _ = try await object("dispatcher.pause", params, deadline)
    }

    /// Resumes a paused dispatcher (Behaviour B23).
    public func resume(_ dispatcher: String, deadline: Duration? = nil) async throws {
        _ = try await object("dispatcher.resume", ["id": .string(dispatcher)], deadline)
    }

    /// Returns all dispatchers with their counts and the barriers that block them.
    public func dispatchers(deadline: Duration? = nil) async throws -> [ListedDispatcher] {
        let result = try await object("dispatcher.list", [:], deadline)
        guard let dispatchers = ListedDispatcher.list(in: result) else {
            throw ClientError.badAnswer("the result of dispatcher.list has no dispatchers")
        }
        return dispatchers
    }
}
