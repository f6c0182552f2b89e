/// The limits of the next batch.
struct BatchRoom: Equatable {
    /// The most events.
    var most: Int
    /// The last event that the batch may contain.
    var through: SequenceNumber
    /// The number of pending events.
    var pending: Int
    /// The most bytes of a batch with several events.
    var bytes = Int.max
    /// The most bytes of a batch with a single event.
    var mostBytes = Int.max
    /// True if events need not wait for older events of their keys that are in flight.
    var keepsOrder = false
}
