import HeadgateData

/// An event as a worker gets it (Protocol, A delivered event), its data as a type of the program's own.
public struct DeliveredEvent<Value> {
    /// The id by which it is told apart from all others, for ever.
    public let id: String
    /// Its place among all events of the daemon.
    public let sequenceNumber: UInt64
    /// Its name.
    public let event: String
    /// Events of one key come in their order (Behaviour Q2).
    public let key: String?
    /// When it happened, as its sender says, or was received.
    public let time: Timestamp
    /// How many attempts were charged, this one included.
    public let attempt: Int
    /// What there is to say about it.
    public let data: Value
}

extension DeliveredEvent: Sendable where Value: Sendable {}
extension DeliveredEvent: Equatable where Value: Equatable {}

extension DeliveredEvent where Value: Decodable {
    /// Reads an event of a batch.
    /// - Throws: `DecodingError`, with the path below `data`, or what the type throws.
    public init(_ event: DataObject, by coder: DataCoder = DataCoder()) throws {
        let head = try event.decode(as: Head.self)
        id = head.id
        sequenceNumber = head.seq
        self.event = head.event
        key = head.key
        time = head.time
        attempt = head.attempt ?? 1
        data = try coder.decode(from: event["data"] ?? [:])
    }
}

/// What an event has beside its data.
private struct Head: Decodable {
    var id: String
    var seq: UInt64
    var event: String
    var key: String?
    var time: Timestamp
    var attempt: Int?
}

extension HeadgateClient {
    /// What a worker makes of an event.
    public typealias EventWork<Value> = @Sendable (DeliveredEvent<Value>) async throws -> DeliveredEventOutcome

    /// Works for a dispatcher of kind `worker` (Behaviour K3), event by event, until the task is cancelled.
    ///
    /// The events of a batch are worked on one after the other. One whose data is not of the type, by the client's ``coder``,
    /// is ``DeliveredEventOutcome/dead``: another attempt would be no better. One that `work` throws for comes again.
    /// - Parameters:
    ///   - dispatcher: its id.
    ///   - type: what the events' data is.
    ///   - credit: how many batches are worked on at once.
    ///   - limit: the most events of a batch; nil is as many as the dispatcher sends.
    ///   - onNews: told when the daemon knows of it and when the connection is gone, in order; not to be held up.
    ///   - work: what is made of each event.
    /// - Throws: as the function that takes batches does.
    public func work<Value: Decodable & SendableMetatype>(
        for dispatcher: String, as type: Value.Type, credit: Int = 1, limit: Int? = nil,
        onNews: @escaping @Sendable (ServingNews) -> Void = { _ in }, _ work: @escaping EventWork<Value>
    ) async throws {
        try await self.work(for: dispatcher, credit: credit, limit: limit, onNews: onNews) { [coder] batch in
            var outcomes: [String: DeliveredEventOutcome] = [:]
            for event in batch.events {
                guard let id: String = event.get(key: "id") else { continue }
                let outcome = try await HeadgateClient.outcome(of: event, by: coder, work)
                if outcome != .delivered { outcomes[id] = outcome }
            }
            return outcomes
        }
    }

    private static func outcome<Value: Decodable>(
        of event: DataObject, by coder: DataCoder, _ work: EventWork<Value>
    ) async throws -> DeliveredEventOutcome {
        guard let event = try? DeliveredEvent<Value>(event, by: coder) else { return .dead }
        do {
            return try await work(event)
        } catch {
            // Who is ending says nothing of the event: the whole batch comes again.
            try Task.checkCancellation()
            return .retry
        }
    }
}
