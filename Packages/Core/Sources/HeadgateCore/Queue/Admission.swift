/// What became of an event that was offered to the queue.
public enum Admission: Equatable, Sendable {
    /// It has its place, and will be acknowledged once its group is committed.
    case stored(SequenceNumber)
    /// The same id came before (Behaviour Q7); acknowledged no earlier than the first one.
    case duplicate(SequenceNumber)
    /// No dispatcher wants it (Behaviour P3).
    case unrouted
    /// The store is full, and set to refuse (Behaviour Q4).
    case queueFull
    /// The event alone is larger than the store may be.
    case tooLarge
}

/// Why events that are accepted all or none are not accepted.
public enum AdmissionRefusal: Error, Equatable, Sendable {
    /// The store has no room for those of them that are new, and is set to refuse (Behaviour Q4).
    case queueFull
    /// Those that are new are larger together than the store may be.
    case tooLarge
}
