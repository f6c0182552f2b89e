/// How far the backlog has been looked through for events that have become too old, wherever they wait (Behaviour Q4).
/// Pure.
///
/// It goes over the sequence numbers again and again, a stretch at a time. What it found and settled needs not be kept in
/// a list, which would grow with the backlog: an event that was passed and is too old by the limit of that pass is one of
/// these (Behaviour Q6).
struct Sweep {
    struct Pass: Equatable {
        /// All up to and including this event has been looked at.
        var through: SequenceNumber
        var limit: AgeLimit

        func covers(_ event: StoredEvent) -> Bool {
            event.sequenceNumber <= through && limit.isExceeded(by: event)
        }
    }

    /// The last pass that came to its end.
    private var done = Pass(through: 0, limit: .none)
    private var running: Pass?
    /// Where the running pass ends.
    private var target: SequenceNumber = 0

    /// The sequence numbers that are looked at in one step, as long as there is something to be found.
    static let step: SequenceNumber = 16_384
    /// The sequence numbers of the next step. Each step that finds nothing makes the next one twice as long, so that a pass gets
    /// over numbers without events, of which there may be billions, in a few steps.
    private var step = Sweep.step

    /// Whether the event was passed when it was too old: whoever had not taken it in hand by then has settled it.
    func hasPassed(_ event: StoredEvent) -> Bool {
        running?.covers(event) ?? false || done.covers(event)
    }

    /// Whether the step under way finds the event too old for the first time.
    func isDue(_ event: StoredEvent) -> Bool {
        guard let running, event.sequenceNumber > running.through, event.sequenceNumber <= target else { return false }
        return running.limit.isExceeded(by: event) && !done.covers(event)
    }

    /// Begins a pass, or goes on with the one that has not come to its end.
    mutating func begin(_ limit: AgeLimit, behind start: SequenceNumber, through target: SequenceNumber) {
        guard running == nil else { return }
        // What was once found too old stays settled, whatever limits are set later.
        running = Pass(through: start, limit: limit.union(done.limit))
        step = Sweep.step
        self.target = target
    }

    /// What is to be looked at next; nil when no pass is running.
    var next: AgedStretch? {
        guard let running else { return nil }
        let isSeenBefore = running.through < done.through
        let last = isSeenBefore ? min(target, done.through) : target
        let end = last - running.through > step ? running.through + step : last
        return AgedStretch(
            after: running.through, through: max(end, running.through), limit: running.limit,
            earlier: isSeenBefore ? done.limit : nil)
    }

    /// All up to an event has been looked at, and what was due is settled.
    /// - Parameter isEmpty: whether nothing was found.
    mutating func advance(through sequenceNumber: SequenceNumber, isEmpty: Bool = false) {
        step = isEmpty ? min(step, .max / 2) * 2 : Sweep.step
        running?.through = min(sequenceNumber, target)
        guard let running, running.through >= target else { return }
        done = Pass(through: max(running.through, done.through), limit: running.limit)
        self.running = nil
    }
}

/// What is too old at some moment, on the age scale in milliseconds (Behaviour Q4).
public struct AgeLimit: Sendable, Equatable {
    /// Events that were received at or before this stamp are too old for the store.
    public var receivedBy: Int64
    /// A time to live that ends at or before this stamp is over.
    public var endedBy: Int64

    public init(receivedBy: Int64, endedBy: Int64) {
        self.receivedBy = receivedBy
        self.endedBy = endedBy
    }

    /// Nothing is too old.
    static let none = AgeLimit(receivedBy: .min, endedBy: .min)

    /// Whether an event is too old.
    public func isExceeded(by event: StoredEvent) -> Bool {
        event.receivedStamp <= receivedBy || event.isExpired(at: endedBy)
    }

    /// Whether a group may hold an event that is too old by this limit and was not by an earlier one.
    public func mayBeExceeded(by ages: GroupAges, since earlier: AgeLimit) -> Bool {
        let isReceipt = earlier.receivedBy < ages.lastReceipt && ages.firstReceipt <= receivedBy
        let isExpiry = earlier.endedBy < ages.lastExpiry && ages.firstExpiry <= endedBy
        return isReceipt || isExpiry
    }

    /// What is too old by either.
    func union(_ other: AgeLimit) -> AgeLimit {
        AgeLimit(receivedBy: max(receivedBy, other.receivedBy), endedBy: max(endedBy, other.endedBy))
    }
}

/// What a sweeper asks a store for: the events of a stretch that are too old, and were not when it last looked
/// (Behaviour Q4).
public struct AgedStretch: Sendable, Equatable {
    /// The stretch begins behind this event.
    public var after: SequenceNumber
    /// The last event of the stretch.
    public var through: SequenceNumber
    public var limit: AgeLimit
    /// What was too old when the stretch was looked through before; nil when it never was.
    public var earlier: AgeLimit?

    public init(after: SequenceNumber, through: SequenceNumber, limit: AgeLimit, earlier: AgeLimit?) {
        self.after = after
        self.through = through
        self.limit = limit
        self.earlier = earlier
    }

    /// Whether a group may hold such events.
    public func asksFor(_ ages: GroupAges) -> Bool {
        limit.mayBeExceeded(by: ages, since: earlier ?? .none)
    }
}

/// When the events of a group become too old, on the age scale in milliseconds: so a sweeper looks into no group in which
/// none is (Behaviour Q4, Q6).
public struct GroupAges: Sendable, Equatable {
    /// When its first event was received.
    public private(set) var firstReceipt = Int64.max
    /// When its last event was received.
    public private(set) var lastReceipt = Int64.min
    /// When the first time to live in it ends; `Int64.max` when no event has one.
    public private(set) var firstExpiry = Int64.max
    /// When the last time to live in it ends; `Int64.min` when no event has one.
    public private(set) var lastExpiry = Int64.min

    /// Of no events.
    public init() {}

    /// As a store has written it down.
    public init(firstReceipt: Int64, lastReceipt: Int64, firstExpiry: Int64, lastExpiry: Int64) {
        (self.firstReceipt, self.lastReceipt) = (firstReceipt, lastReceipt)
        (self.firstExpiry, self.lastExpiry) = (firstExpiry, lastExpiry)
    }

    /// Of events that lie together.
    public init(_ chunk: Chunk) {
        for event in chunk { add(receivedStamp: event.receivedStamp, expiryStamp: event.header.expiryStamp) }
    }

    /// Takes in those of another group.
    public mutating func add(_ other: GroupAges) {
        firstReceipt = min(firstReceipt, other.firstReceipt)
        lastReceipt = max(lastReceipt, other.lastReceipt)
        firstExpiry = min(firstExpiry, other.firstExpiry)
        lastExpiry = max(lastExpiry, other.lastExpiry)
    }

    @inline(__always)
    mutating func add(receivedStamp: Int64, timeToLive: Duration?) {
        let expiry = RecordHeader.expiryStamp(of: timeToLive, receivedAt: receivedStamp)
        add(receivedStamp: receivedStamp, expiryStamp: expiry)
    }

    /// - Parameter expiryStamp: when the event is of no more use; 0 is never.
    private mutating func add(receivedStamp: Int64, expiryStamp: Int64) {
        firstReceipt = min(firstReceipt, receivedStamp)
        lastReceipt = max(lastReceipt, receivedStamp)
        guard expiryStamp != 0 else { return }
        firstExpiry = min(firstExpiry, expiryStamp)
        lastExpiry = max(lastExpiry, expiryStamp)
    }
}
