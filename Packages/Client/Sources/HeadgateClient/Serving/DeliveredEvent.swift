import HeadgateData

/// An event of a batch with its data as a type of the program (Protocol, A delivered event).
public struct DeliveredEvent<Value> {
    /// The id that identifies the event for ever.
    public let id: String
    /// The event's number in the daemon's order of acceptance.
    public let sequenceNumber: UInt64
    /// The event's name.
    public let event: String
    /// The event's key. Events of one key come in their order (Behaviour Q2).
    public let key: String?
    /// The time of the event as its sender gave it, or of its receipt.
    public let time: Timestamp
    /// The number of charged attempts, including this one.
    public let attempt: Int
    /// The event's data.
    public let data: Value
}

extension DeliveredEvent: Sendable where Value: Sendable {}
extension DeliveredEvent: Equatable where Value: Equatable {}

extension DeliveredEvent where Value: Decodable {
    /// Reads an event of a batch.
    /// - Throws: `DecodingError` with the path below `data`, or an error of the type.
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

/// The members of an event besides its data.
private struct Head: Decodable {
    var id: String
    var seq: UInt64
    var event: String
    var key: String?
    var time: Timestamp
    var attempt: Int?
}

extension HeadgateClient {
    /// A function that handles an event.
    public typealias EventWork<Value> = @Sendable (DeliveredEvent<Value>) async throws -> DeliveredEventOutcome

    /// Works for a dispatcher of kind `worker` (Behaviour K3), event by event, until the task is cancelled.
    ///
    /// The events of a batch are handled one after the other. An event whose data the client's ``coder`` cannot
    /// decode is ``DeliveredEventOutcome/dead``: another attempt would fail in the same way. An event for which
    /// `work` throws comes again.
    /// - Parameters:
    ///   - dispatcher: the dispatcher's id.
    ///   - type: the type of the events' data.
    ///   - credit: the number of batches that are handled at once.
    ///   - limit: the greatest number of events in a batch; nil is the dispatcher's own limit.
    ///   - onNews: called in order when the daemon has the subscription and when the connection is lost. It must not
    ///     block.
    ///   - work: handles an event.
    /// - Throws: the errors of the function that takes batches.
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
            // A cancelled handler says nothing about the event: the whole batch comes again.
            try Task.checkCancellation()
            return .retry
        }
    }
}
