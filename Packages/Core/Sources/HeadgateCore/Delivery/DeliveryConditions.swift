import HeadgateData

/// The conditions outside of a dispatcher on which sending depends.
struct DeliveryConditions {
    /// The present time on the age scale.
    var stamp: Int64
    /// The last event that may be sent now; nil if the dispatcher is blocked. A flush allows the events that it covers
    /// (Behaviour F1).
    var openThrough: SequenceNumber?
    /// The capacity of the destination (Behaviour K3).
    var capacity = SenderCapacity()
    /// True if a barrier observes the queue depth.
    var isDepthWatched = true
}

/// The circumstances of a batch's result.
struct DeliveryMoment {
    var now: Instant
    /// The wall-clock time, for people.
    var wall: Timestamp
    /// A random number from 0 to 1 for the length of a wait that may follow.
    var chance: Double
    /// The room for dead letters.
    var deadLetterRoom = DeadLetterRoom.unlimited
}
