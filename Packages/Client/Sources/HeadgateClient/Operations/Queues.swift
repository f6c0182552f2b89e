import HeadgateData

/// What waits for dispatchers, and what they gave up.
extension HeadgateClient {
    /// The next events of a dispatcher, in the order in which it would send them, as they are stored: not transformed
    /// yet.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - after: those behind this sequence number.
    ///   - limit: how many, up to 1000; there may be fewer where they are large. Nil is the daemon's 10.
    ///   - deadline: how long to wait; nil is for ever.
    public func peek(
        _ dispatcher: String, after: Int64? = nil, limit: Int? = nil, deadline: Duration? = nil
    ) async throws -> PeekedEvents {
        var params: DataObject = ["dispatcher": .string(dispatcher)]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        params["after"] = after.map { .number(DataNumber(Int($0))) }
        return try PeekedEvents(await object("queue.peek", params, deadline))
    }

    /// Drops what waits for a dispatcher, but not what is on its way; it is counted as evicted.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - sequenceNumber: only what comes before this one; nil is all.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Returns: how many events are gone.
    @discardableResult
    public func purgeQueue(
        of dispatcher: String, before sequenceNumber: Int64? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        var params: DataObject = ["dispatcher": .string(dispatcher)]
        params["before_seq"] = sequenceNumber.map { .number(DataNumber(Int($0))) }
        return try await member("purged", of: "queue.purge", params, deadline)
    }

    /// Events that dispatchers gave up, the oldest first (Behaviour D10).
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - after: those behind this letter.
    ///   - limit: how many, up to 1000; there may be fewer where they are large. Nil is what the daemon usually gives.
    ///   - deadline: how long to wait; nil is for ever.
    public func deadLetters(
        of dispatcher: String? = nil, after: Int? = nil, limit: Int? = nil, deadline: Duration? = nil
    ) async throws -> DeadLetterPage {
        var params: DataObject = [:]
        params["limit"] = limit.map { .number(DataNumber($0)) }
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["after"] = after.map { .number(DataNumber($0)) }
        return try DeadLetterPage(await object("dead_letters.list", params, deadline))
    }

    /// Has dead letters' events go again, each to its dispatcher and under its id (Behaviour D10). Where there is no
    /// room for all, it is refused with `queue_full`; `count` in the error's data tells how many go all the same.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - letters: those of these numbers; nil is all.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Returns: how many events go again.
    @discardableResult
    public func requeueDeadLetters(
        of dispatcher: String? = nil, _ letters: [Int]? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        try await member("count", of: "dead_letters.requeue", selection(dispatcher, letters), deadline)
    }

    /// Deletes dead letters for good.
    /// - Parameters:
    ///   - dispatcher: those of one; nil is of all.
    ///   - letters: those of these numbers; nil is all.
    ///   - deadline: how long to wait; nil is for ever.
    /// - Returns: how many letters are gone.
    @discardableResult
    public func purgeDeadLetters(
        of dispatcher: String? = nil, _ letters: [Int]? = nil, deadline: Duration? = nil
    ) async throws -> Int {
        try await member("count", of: "dead_letters.purge", selection(dispatcher, letters), deadline)
    }

    private func selection(_ dispatcher: String?, _ letters: [Int]?) -> DataObject {
        var params: DataObject = [:]
        params["dispatcher"] = dispatcher.map { .string($0) }
        params["letters"] = letters.map { .array($0.map { .number(DataNumber($0)) }) }
        return params
    }
}

/// Some of the pending events for a dispatcher, in the order in which it would send them (Protocol, `queue.peek`).
public struct PeekedEvents: Sendable, Equatable {
    /// The events, as they are stored: not transformed yet.
    public let events: [DataObject]
    /// What to give as `after` for those behind them; nil when these are all.
    public let next: Int64?

    /// Reads the result of `queue.peek`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let events = result.get(key: "events", as: [DataObject].self) else {
            throw .badAnswer("a result of queue.peek without events")
        }
        self.events = events
        next = result.get(key: "next", as: Int.self).map(Int64.init)
    }
}

/// Some dead letters, the oldest first (Protocol, `dead_letters.list`).
public struct DeadLetterPage: Sendable, Equatable {
    /// The letters of this page.
    public let letters: [ListedDeadLetter]
    /// What to give as `after` for those behind them; nil when these are all.
    public let next: Int?

    /// Reads the result of `dead_letters.list`; throws ``ClientError/badAnswer(_:)``.
    public init(_ result: DataObject) throws(ClientError) {
        guard let entries = result.get(key: "dead_letters", as: [DataObject].self) else {
            throw .badAnswer("a result of dead_letters.list without dead_letters")
        }
        letters = entries.map(ListedDeadLetter.init)
        next = result.get(key: "next")
    }
}

/// A dead letter as the daemon shows it (Protocol, `dead_letters.list`).
public struct ListedDeadLetter: Sendable, Equatable {
    /// Its number, by which it can be requeued or purged.
    public let letter: Int
    /// The id of the dispatcher that gave the event up.
    public let dispatcher: String
    /// The reason, in one of the words of Behaviour D10.
    public let reason: String
    /// The destination's last status; nil where there was none.
    public let status: Int?
    /// A piece of the destination's last answer.
    public let answer: String?
    /// Attempts that were charged: a network error charges none (Behaviour D9).
    public let attempts: Int
    /// When the event failed first.
    public let firstFailedAt: Timestamp?
    /// When it was given up.
    public let diedAt: Timestamp?
    /// The event as it lay in the queue; nil when it is damaged.
    public let event: DataObject?

    /// Reads an entry of `dead_letters.list`. What is missing is taken for empty.
    public init(_ entry: DataObject) {
        letter = entry.get(key: "letter") ?? 0
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
