/// A dispatcher as it is stored.
public struct StoredDispatcher: Sendable, Equatable {
    public var number: DispatcherNumber
    public var id: String
    public var settled: Settled
    /// The time since when the dispatcher is not configured, on the age scale in milliseconds; nil while it is
    /// configured (Behaviour Q3).
    public var orphanedSince: Int64?

    public init(number: DispatcherNumber, id: String, settled: Settled, orphanedSince: Int64? = nil) {
        self.number = number
        self.id = id
        self.settled = settled
        self.orphanedSince = orphanedSince
    }

    /// All events up to this sequence number are settled.
    public var position: SequenceNumber { settled.position }
}
