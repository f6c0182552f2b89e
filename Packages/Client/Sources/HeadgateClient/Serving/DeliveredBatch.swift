import HeadgateData
import HeadgateWire

/// A batch of events for a worker (Behaviour K3, Protocol `dispatch`).
public struct DeliveredBatch: Sendable, Equatable {
    /// The dispatcher of the events.
    public let dispatcher: String
    /// The batch's id, the same for the same events on every attempt.
    public let id: String
    /// The greatest number of attempts of an event of the batch, with this one.
    public let attempt: Int
    /// The events' JSON, one event a line, as the daemon wrote it (Protocol, A delivered event).
    public let lines: [UInt8]

    /// The events as objects.
    public var events: [DataObject] {
        lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard case .object(let event)? = try? DataItem(parsing: Array(line)) else { return nil }
            return event
        }
    }

    /// Reads the params of `dispatch`. Returns nil if they are malformed.
    init?(_ params: JSONView) {
        guard let dispatcher = params.member("dispatcher")?.string, let id = params.member("batch")?.string,
            let attempt = params.member("attempt")?.int, let events = params.member("events")?.elements
        else { return nil }
        self.dispatcher = dispatcher
        self.id = id
        self.attempt = Int(attempt)
        var lines: [UInt8] = []
        for event in events {
            lines += event.raw
            lines.append(UInt8(ascii: "\n"))
        }
        self.lines = lines
    }
}

/// The outcome of one event of a batch (Behaviour K3).
public enum DeliveredEventOutcome: String, Sendable, CaseIterable {
    /// The event is delivered.
    case delivered
    /// The daemon should give the event to a worker again.
    case retry
    /// The event becomes a dead letter.
    case dead
}

extension DaemonRequest {
    /// Answers with the outcomes of a batch.
    /// - Parameter outcomes: the outcomes by event id. Events without one are delivered.
    public func settle(_ outcomes: [String: DeliveredEventOutcome] = [:]) {
        guard !outcomes.isEmpty else { return answer() }
        let words = outcomes.sorted { $0.key < $1.key }.map { ($0.key, DataItem.string($0.value.rawValue)) }
        answer(["outcomes": .object(DataObject(words))])
    }

    /// Answers that the work failed. The daemon gives all events of a batch to a worker again, or fails a board's
    /// activation.
    /// - Parameter cause: the reason, for people.
    public func giveBack(_ cause: String) {
        fail(.internalError(cause))
    }
}
