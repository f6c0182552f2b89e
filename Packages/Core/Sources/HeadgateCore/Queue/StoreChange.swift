/// A change of the state that a store keeps beside the events.
public enum StoreChange: Sendable, Equatable {
    /// A dispatcher was added, for the first time or again, or was removed.
    case dispatcher(StoredDispatcher)
    /// A dispatcher's queue and dead letters are deleted.
    case forgetDispatcher(DispatcherNumber)
    /// All events that a dispatcher has settled so far.
    case settled(DispatcherNumber, Settled)
    /// A dispatcher dead-letters an event (Behaviour D10).
    case deadLetter(DeadLetter)
    /// No dispatcher needs the events up to this sequence number. A store may keep them longer, but must always
    /// remember its highest sequence number.
    case trim(through: SequenceNumber)
    /// No dispatcher needs events of these routes, and no new event gets one of them. Their numbers are not reused for
    /// a long time.
    case forgetRoutes([RouteNumber])
    /// The ids of events up to this sequence number are forgotten.
    case forgetIDs(through: SequenceNumber)
    /// The oldest dead letters are deleted until the rest is within the limits. The newest letter is always kept
    /// (Behaviour D10).
    case limitDeadLetters(DeadLetterLimits)
    /// A small value to keep under a name, like the state of a ManualBarrier. Nil deletes the value.
    case keep(String, [UInt8]?)
    /// Settled events are kept within limits from now on; nil keeps none (Behaviour R1). Only stores that can rewind
    /// get it.
    case retain(Retention?)
}
