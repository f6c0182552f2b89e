import HeadgateData

/// Some of the events that wait for a dispatcher, in the order in which it would send them (Protocol, `queue.peek`).
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
