import HeadgateData

/// The queues of dispatchers, and their dead letters.
extension HeadgateClient {
    /// Returns the next events of a dispatcher in the order of delivery, as they are stored, before transformations.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - after: only events after this sequence number.
    ///   - limit: the greatest number of events, up to 1000; large events may be fewer. Nil is the daemon's 10.
    ///   - deadline: the longest wait; nil waits for ever.
    public func peek(
        _ dispatcher: String, after: Int64? = nil, limit: Int? = nil, deadline: Duration? = nil
    ) async throws -> PeekedEvents {
        var params: DataObject = ["dispatcher": .string(dispatcher)]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        params["after"] = after.map { .number(DataNumber(Int($0))) }
        return try PeekedEvents(await object("queue.peek", params, deadline))
    }

    /// Drops the pending events of a dispatcher, but not those in flight. They count as evicted.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - sequenceNumber: only events before this number; nil is all.
    ///   - deadline: the longest wait; nil waits for ever.
    /// - Returns: the number of dropped events.
    @discardableResult
    public func purgeQueue(
        of dispatcher: String, before sequenceNumber: Int64? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        var params: DataObject = ["dispatcher": .string(dispatcher)]
        params["before_seq"] = sequenceNumber.map { .number(DataNumber(Int($0))) }
        return try await member("purged", of: "queue.purge", params, deadline)
    }

    /// Returns dead letters, the oldest first (Behaviour D10).
    /// - Parameters:
    ///   - dispatcher: only those of one dispatcher; nil is all.
    ///   - after: only dead letters after this number.
    ///   - limit: the greatest number of dead letters, up to 1000; large events may be fewer. Nil is the
    ///     daemon's default.
    ///   - deadline: the longest wait; nil waits for ever.
    public func deadLetters(
        of dispatcher: String? = nil, after: Int? = nil, limit: Int? = nil, deadline: Duration? = nil
    ) async throws -> DeadLetterPage {
        var params: DataObject = [:]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["after"] = after.map { .number(DataNumber($0)) }
        return try DeadLetterPage(await object("dead_letters.list", params, deadline))
    }

    /// Queues the events of dead letters again, each for its dispatcher and under its id (Behaviour D10). If there is
    /// no room for all, it is refused with `queue_full`, and `count` in the error's data is the number of queued
    /// events.
    /// - Parameters:
    ///   - dispatcher: only those of one dispatcher; nil is all.
    ///   - numbers: only those of these numbers; nil is all.
    ///   - deadline: the longest wait; nil waits for ever.
    /// - Returns: the number of queued events.
    @discardableResult
    public func requeueDeadLetters(
        of dispatcher: String? = nil, _ numbers: [Int]? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        try await member("count", of: "dead_letters.requeue", selection(dispatcher, numbers), deadline)
    }

    /// Deletes dead letters.
    /// - Parameters:
    ///   - dispatcher: only those of one dispatcher; nil is all.
    ///   - numbers: only those of these numbers; nil is all.
    ///   - deadline: the longest wait; nil waits for ever.
    /// - Returns: the number of deleted dead letters.
    @discardableResult
    public func purgeDeadLetters(
        of dispatcher: String? = nil, _ numbers: [Int]? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        try await member("count", of: "dead_letters.purge", selection(dispatcher, numbers), deadline)
    }

    private func selection(_ dispatcher: String?, _ numbers: [Int]?) -> DataObject {
        var params: DataObject = [:]
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["letters"] = numbers.map { .array($0.map { .number(DataNumber($0)) }) }
        return params
    }
}

/// Pending events of a dispatcher in the order of delivery (Protocol, `queue.peek`).
public struct PeekedEvents: Sendable, Equatable {
    /// The events as they are stored, before transformations.
    public let events: [DataObject]
    /// The value of `after` for the next page; nil on the last page.
    public let next: Int64?

    /// Reads the result of `queue.peek`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let events = result.get(key: "events", as: [DataObject].self) else {
            throw .badAnswer("the result of queue.peek has no events")
        }
        self.events = events
        next = result.get(key: "next", as: Int.self).map(Int64.init)
    }
}

/// A page of dead letters, the oldest first (Protocol, `dead_letters.list`).
public struct DeadLetterPage: Sendable, Equatable {
    /// The dead letters of this page.
    public let deadLetters: [ListedDeadLetter]
    /// The value of `after` for the next page; nil on the last page.
    public let next: Int?

    /// Reads the result of `dead_letters.list`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let entries = result.get(key: "dead_letters", as: [DataObject].self) else {
            throw .badAnswer("the result of dead_letters.list has no dead_letters")
        }
        deadLetters = entries.map(ListedDeadLetter.init)
        next = result.get(key: "next")
    }
}

/// A dead letter as the daemon lists it (Protocol, `dead_letters.list`).
public struct ListedDeadLetter: Sendable, Equatable {
    /// The dead letter's number, for requeueing and purging.
    public let number: Int
    /// The id of the dispatcher that dead-lettered the event.
    public let dispatcher: String
    /// The reason, one of the words of Behaviour D10.
    public let reason: String
    /// The destination's last status; nil if there was none.
    public let status: Int?
    /// The beginning of the destination's last answer.
    public let answer: String?
    /// The number of charged attempts. A network error charges none (Behaviour D9).
    public let attempts: Int
    /// The time of the first failure.
    public let firstFailedAt: Timestamp?
    /// The time at which the event was dead-lettered.
    public let diedAt: Timestamp?
    /// The event as it was queued; nil if it is damaged.
    public let event: DataObject?

    /// Reads an entry of `dead_letters.list`. Missing members are empty.
    public init(_ entry: DataObject) {
        number = entry.get(key: "letter") ?? 0
        dispatcher = entry.get(key: "dispatcher") ?? ""
        reason = entry.get(key: "reason") ?? ""
        status = entry.get(key: "status")
        answer = entry.get(key: "answer")
        attempts = entry.get(key: "attempts") ?? 0
        firstFailedAt = entry.get(key: "first_failed_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        diedAt = entry.get(key: "died_at", as: String.self).flatMap(Timestamp.init(rfc3339:))
        event = entry.get(key: "event")
    }
}
