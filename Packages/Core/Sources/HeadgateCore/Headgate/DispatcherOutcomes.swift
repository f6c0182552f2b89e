/// What became of a dispatcher's events, counted in events.
public struct DispatcherOutcomes: Sendable, Equatable {
    /// The dispatcher's id.
    public var dispatcher: String
    public var delivered: Int
    /// Events that go once more, each time that they do.
    public var retried: Int
    public var dead: Int
    public var expired: Int
    public var evicted: Int
    /// What the last failed attempt failed of; nil after a success.
    public var lastError: String?

    /// What has come since an earlier look.
    public func since(_ earlier: DispatcherOutcomes) -> DispatcherOutcomes {
        DispatcherOutcomes(
            dispatcher: dispatcher, delivered: delivered - earlier.delivered, retried: retried - earlier.retried,
            dead: dead - earlier.dead, expired: expired - earlier.expired, evicted: evicted - earlier.evicted,
            lastError: lastError)
    }
}

extension Headgate {
    /// What became of every dispatcher's events since the start, in alphabetical order of the dispatchers.
    public var outcomes: [DispatcherOutcomes] {
        dispatcherIds.compactMap { dispatchers[$0] }.map { dispatcher in
            let tally = dispatcher.tally
            return DispatcherOutcomes(
                dispatcher: dispatcher.id, delivered: tally.sent, retried: tally.retried, dead: tally.dead,
                expired: tally.expired, evicted: tally.evicted, lastError: dispatcher.lastError)
        }
    }
}
