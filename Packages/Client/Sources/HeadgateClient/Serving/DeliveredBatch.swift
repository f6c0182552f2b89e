import HeadgateData
import HeadgateWire

/// Events that the daemon gives to a worker (Behaviour K3, Protocol `dispatch`).
public struct DeliveredBatch: Sendable, Equatable {
    /// The dispatcher that they come from.
    public let dispatcher: String
    /// The batch's id, the same for the same events on every attempt.
    public let id: String
    /// The most attempts that one of the events has had, this one included.
    public let attempt: Int
    /// The events' JSON, one a line, as the daemon wrote them (Protocol, A delivered event).
    public let lines: [UInt8]

    /// The events, read.
    public var events: [DataObject] {
        lines.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard case .object(let event)? = try? DataItem(parsing: Array(line)) else { return nil }
            return event
        }
    }

    /// Reads the params of `dispatch`; nil when they are not of the protocol.
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

/// What a worker says of one event of a batch (Behaviour K3).
public enum DeliveredEventOutcome: String, Sendable, CaseIterable {
    /// The event is done.
    case delivered
    /// The event is to be given to a worker once more.
    case retry
    /// The event is never to be given to a worker again: it becomes a dead letter.
    case dead
}

extension DaemonRequest {
    /// Says what came of a batch.
    /// - Parameter outcomes: by the events' ids; those that it does not name are delivered.
    public func settle(_ outcomes: [String: DeliveredEventOutcome] = [:]) {
        guard !outcomes.isEmpty else { return answer() }
        let words = outcomes.sorted { $0.key < $1.key }.map { ($0.key, DataItem.string($0.value.rawValue)) }
        answer(["outcomes": .object(DataObject(words))])
    }

    /// Says that it could not be done: all events of a batch are given to a worker once more, a board's run has failed.
    /// - Parameter cause: why, for people.
    public func giveBack(_ cause: String) {
        fail(.internalError(cause))
    }
}
