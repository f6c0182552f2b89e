/// The outcome of an event for a dispatcher.
enum DeliveryOutcome {
    case delivered
    case dead
    case expired
    /// The event was dropped to make room.
    case evicted
    /// An operator purged the event.
    case purged
    /// A transformation dropped the event (Behaviour P4).
    case transformedAway
    /// An operator erased the event (Behaviour E1).
    case erased
}
