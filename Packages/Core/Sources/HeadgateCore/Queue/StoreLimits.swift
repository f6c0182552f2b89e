/// How much a store may hold, and for how long (Behaviour Q3, Q4, Q7).
public struct StoreLimits: Sendable, Equatable {
    public var maxEvents = 1_000_000
    /// Bytes of stored JSON.
    public var maxBytes = 1 << 30
    public var maxAge = Duration.seconds(30 * 86_400)
    public var overflow = Overflow.reject
    /// How long an event's id is remembered.
    public var dedupeWindow = Duration.seconds(86_400)
    /// How many ids are remembered, the newest.
    public var dedupeIDs = 500_000
    /// How long the queue of a removed dispatcher is kept.
    public var orphanRetention = Duration.seconds(7 * 86_400)

    /// What happens to an event for which there is no room.
    public enum Overflow: String, Sendable, CaseIterable {
        /// It is refused with `queue_full`.
        case reject
        /// The oldest that are not in flight make room.
        case dropOldest = "drop_oldest"
    }

    public init() {}

    /// How far over the limits a store of this size is.
    func excess(of tally: Tally) -> Bool {
        tally.events > maxEvents || tally.bytes > maxBytes
    }
}
