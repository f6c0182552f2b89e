import HeadgateData

/// What ``DeliveryMachine`` has its dispatcher do. Each order is carried out before the machine is told or asked anything else,
/// since what it decides next depends on it.
enum DeliveryOrder: Equatable {
    // MARK: The queue

    /// Let go of events in hand for good. Tell ``DeliveryMachine/release(_:)``, and what became of them.
    case settle(SequenceSet, as: DeliveryEnd)
    /// Write down what is settled: events were passed over that the sweeper had settled.
    case writeSettled
    /// The store no longer has so many events that were counted for this dispatcher (Behaviour Q8).
    case countLost(Int)
    /// The store has events for this dispatcher beyond those that were counted (Behaviour Q8).
    case countFound(RouteTallies)
    /// Read what the store has behind an event, and tell ``DeliveryMachine/read(_:at:)``.
    case readStore(after: SequenceNumber)
    /// Tell ``DeliveryMachine/readingRested()`` once the wait is over.
    case restFromReading
    /// Tell barriers how much waits.
    case tellDepth
    /// Note for which reasons all of these are held now: tell ``DeliveryMachine/held(for:_:)`` (Behaviour D13).
    case noteHeld(ClosedRange<SequenceNumber>)
    /// A purge is over.
    case endPurge(Purges.Number, PurgeEnd)

    // MARK: Sending

    /// Lay events into a batch, and tell ``DeliveryMachine/laid(_:under:at:)``.
    case lay(BatchRoom)
    /// Hand a batch to the sender, and tell ``DeliveryMachine/answered(_:_:at:)`` what comes of it.
    case send(Batch)
    /// Have the board run that stands before the dispatcher (Behaviour A9).
    case wantBoard
    /// Have the board run again, since what it put out under this opening was refused.
    case renewBoard(sentUnder: Int)

    // MARK: After an attempt

    /// Put events aside. They are settled by the order that follows.
    case keep([DeadLetter])
    /// Close the DeadLettersBarrier: an event of so many bytes died, and there is no room for its dead letter (Behaviour D10).
    case holdForLetters(bytes: Int)
    /// Count events that go once more.
    case countRetried(Int)
    /// Log that the destination had so many events before their first attempt (Behaviour K4).
    case tellDuplicates(Int)
    /// Close the BackoffBarrier (Behaviour D8).
    case wait(until: Instant, cause: String)
    /// Close the ManualBarrier: the destination refuses the dispatcher (Behaviour D7).
    case hold(cause: String)
    /// Put the ManualBarrier back as the operator set it: such a refusal counts no more.
    case endHold
    /// Look again at the end of the turn.
    case lookAgain
    /// Look again at the end of the turn, or where more may come to the next batch, a moment later.
    case lookForMore
}

/// How an event's way ends.
enum DeliveryEnd {
    case delivered
    case dead
    case expired
    /// It had to make room.
    case evicted
    /// An operator did not want it.
    case purged
    /// Dropped by a transformation, as somebody wanted (Behaviour P4).
    case transformedAway
}

/// How many events the next batch may have, and which.
struct BatchRoom: Equatable {
    /// The most events.
    var most: Int
    /// Up to this one.
    var through: SequenceNumber
    /// As many events wait.
    var pending: Int
    /// As many bytes the batch may have if it has several events.
    var bytes = Int.max
    /// As many bytes it may have at all.
    var mostBytes = Int.max
    /// True if events need not wait for older ones of their keys that are in flight.
    var keepsOrder = false
}

/// What stands outside of a dispatcher, and decides whether a batch may go.
struct DeliveryConditions {
    /// The moment on the age scale.
    var stamp: Int64
    /// Up to which event may be sent now; nil when the way is closed. A flush opens it for what it covers (Behaviour F1).
    var openThrough: SequenceNumber?
    /// What the destination can take (Behaviour K3).
    var capacity = SenderCapacity()
    /// Whether anybody wants to be told how much waits.
    var isDepthWatched = true
}

/// When something happened to a batch.
struct DeliveryMoment {
    var now: Instant
    /// For people.
    var wall: Timestamp
    /// From 0 to 1, for the length of the wait that may follow.
    var chance: Double
    /// The room for dead letters.
    var letterRoom = LetterRoom.unlimited
}
