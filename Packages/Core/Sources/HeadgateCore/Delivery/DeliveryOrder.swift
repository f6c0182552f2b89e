/// An order from ``DeliveryMachine`` to its dispatcher. Each order is executed before the machine is called again,
/// because the next decision depends on it.
enum DeliveryOrder: Equatable {
    // MARK: The queue

    /// Settle events: call ``DeliveryMachine/release(_:)`` and report the outcome.
    case settle(SequenceSet, as: DeliveryOutcome)
    /// Write the settlements to the store: events were skipped that the sweeper had settled.
    case writeSettled
    /// Count events as lost: the store counted them for this dispatcher, and does not have them (Behaviour Q8).
    case countLost(Int)
    /// Count events of this dispatcher that the store has and did not count (Behaviour Q8).
    case countFound(RouteTallies)
    /// Read the events after a sequence number from the store, and call ``DeliveryMachine/read(_:at:)``.
    case readStore(after: SequenceNumber)
    /// Call ``DeliveryMachine/readingRested()`` when the wait is over.
    case restFromReading
    /// Publish the queue depth to barriers.
    case publishDepth
    /// Record the reasons for which a range of events is held: call ``DeliveryMachine/held(for:_:)`` (Behaviour D13).
    case noteHeld(ClosedRange<SequenceNumber>)
    /// Report the end of a purge.
    case endPurge(Purges.Number, PurgeOutcome)

    // MARK: Sending

    /// Build a batch, and call ``DeliveryMachine/built(_:under:at:)``.
    case build(BatchRoom)
    /// Give a batch to the sender, and call ``DeliveryMachine/answered(_:_:at:)`` with its result.
    case send(Batch)
    /// Run the board of the activation barrier (Behaviour A9).
    case runBoard
    /// Run the board again: the destination refused the output of this opening.
    case renewBoard(sentUnder: Int)

    // MARK: After an attempt

    /// Store dead letters, which have the same reason and cause. The next order settles their events.
    case keep([DeadLetter], cause: String?)
    /// Close the DeadLettersBarrier: there is no room for a dead letter of this size (Behaviour D10).
    case holdForDeadLetters(bytes: Int)
    /// Count events that are sent again.
    case countRetried(Int)
    /// Log events that the destination did not store for this attempt (Behaviour K4, K7).
    case report(EventLoss.Kind, events: Int, cause: String? = nil)
    /// Close the BackoffBarrier (Behaviour D8).
    case wait(until: Instant, cause: String)
    /// Close the ManualBarrier: the destination refuses the dispatcher (Behaviour D7).
    case hold(cause: String)
    /// Restore the ManualBarrier to the operator's setting: the refusal no longer applies.
    case endHold
    /// Evaluate the dispatcher at the end of the turn.
    case evaluateAgain
    /// Evaluate the dispatcher at the end of the turn, or a moment later if more events may join the next batch.
    case evaluateForMore
}
