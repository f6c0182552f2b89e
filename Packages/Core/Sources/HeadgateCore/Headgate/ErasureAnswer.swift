/// The result of an erasure (Behaviour E1).
public struct ErasureAnswer: Sendable, Equatable {
    /// The number of stored events that were erased, or that would be.
    public var events: Int
    /// The number of dead letters that were erased, or that would be.
    public var deadLetters: Int
}

/// The reason why events were not erased.
public enum ErasureRefusal: Error, Equatable, Sendable {
    /// The event store cannot erase.
    case unsupported(store: String)
    /// The rule has a fault.
    case rule(String)
    /// The store failed. Nothing is erased.
    case store
}

/// The progress of an erasure.
public struct ErasureProgress: Sendable, Equatable {
    /// The number of events and dead letters that are erased so far.
    public var done: ErasureAnswer
    /// True if the events are only counted.
    public var isDryRun: Bool
    /// The store is scanned up to this event.
    public var scannedThrough: Int64
    /// The last event to scan.
    public var last: Int64
    /// True if the events are gone, and their bytes are being removed.
    public var isRemoving: Bool
}

/// The end of an erasure that an earlier process began (Behaviour E2).
public struct FinishedErasure: Sendable {
    /// The number of events and dead letters that were erased since the start.
    public var answer: ErasureAnswer
    /// The operator's reason, unless the last event was erased before the start.
    public var reason: String?
}
