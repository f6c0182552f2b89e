/// The progress of the sweeper, which looks for events that have become too old anywhere in the backlog (Behaviour Q4).
/// Pure.
///
/// The sweeper passes over all sequence numbers again and again, a range at a time. It keeps no list of the events that
/// it has settled, since the list would grow with the backlog. They are the events that a pass has covered and that are
/// too old by the pass's limit (Behaviour Q6).
struct Sweep {
    struct Pass: Equatable {
        /// The last event that the pass has covered.
        var through: SequenceNumber
        var limit: AgeLimit

        func covers(_ event: StoredEvent) -> Bool {
            event.sequenceNumber <= through && limit.isExceeded(by: event)
        }
    }

    /// The last complete pass.
    private var done = Pass(through: 0, limit: .none)
    private var running: Pass?
    /// The last event of the running pass.
    private var target: SequenceNumber = 0

    /// The number of sequence numbers per step while events are found.
    static let step: SequenceNumber = 16_384
    /// The number of sequence numbers of the next step. It doubles after each step without a result, so that a pass
    /// crosses billions of unused numbers in a few steps.
    private var step = Sweep.step

    /// Returns true if a pass found the event too old. It is then settled for every dispatcher that had not buffered
    /// it.
    func hasPassed(_ event: StoredEvent) -> Bool {
        running?.covers(event) ?? false || done.covers(event)
    }

    /// Returns true if the current step is the first to find the event too old.
    func isDue(_ event: StoredEvent) -> Bool {
        guard let running, event.sequenceNumber > running.through, event.sequenceNumber <= target else { return false }
        return running.limit.isExceeded(by: event) && !done.covers(event)
    }

    /// Begins a pass. A pass that is running continues instead.
    mutating func begin(_ limit: AgeLimit, behind start: SequenceNumber, through target: SequenceNumber) {
        guard running == nil else { return }
        // Events that were once too old stay settled, even if later limits are larger.
        running = Pass(through: start, limit: limit.union(done.limit))
        step = Sweep.step
        self.target = target
    }

    /// The next range to read; nil if no pass is running.
    var next: AgedRange? {
        guard let running else { return nil }
        let isSeenBefore = running.through < done.through
        let last = isSeenBefore ? min(target, done.through) : target
        let end = last - running.through > step ? running.through + step : last
        return AgedRange(
            after: running.through, through: max(end, running.through), limit: running.limit,
            earlier: isSeenBefore ? done.limit : nil)
    }

    /// Records that a range is read and its events are settled.
    /// - Parameters:
    ///   - sequenceNumber: the end of the range.
    ///   - isEmpty: true if no event was found.
    mutating func advance(through sequenceNumber: SequenceNumber, isEmpty: Bool = false) {
        step = isEmpty ? min(step, .max / 2) * 2 : Sweep.step
        running?.through = min(sequenceNumber, target)
        guard let running, running.through >= target else { return }
        done = Pass(through: max(running.through, done.through), limit: running.limit)
        self.running = nil
    }
}

/// The limits by which events are too old at some time, on the age scale in milliseconds (Behaviour Q4).
public struct AgeLimit: Sendable, Equatable {
    /// Events received at or before this stamp exceed the store's maximum age.
    public var receivedBy: Int64
    /// A time to live that ends at or before this stamp is over.
    public var endedBy: Int64

    public init(receivedBy: Int64, endedBy: Int64) {
        self.receivedBy = receivedBy
        self.endedBy = endedBy
    }

    /// A limit by which no event is too old.
    static let none = AgeLimit(receivedBy: .min, endedBy: .min)

    /// Returns true if an event is too old.
    public func isExceeded(by event: StoredEvent) -> Bool {
        event.receivedStamp <= receivedBy || event.isExpired(at: endedBy)
    }

    /// Returns true if a group may contain an event that is too old by this limit and was not by an earlier one.
    public func mayBeExceeded(by ages: GroupAges, since earlier: AgeLimit) -> Bool {
        let isReceipt = earlier.receivedBy < ages.lastReceipt && ages.firstReceipt <= receivedBy
        let isExpiry = earlier.endedBy < ages.lastExpiry && ages.firstExpiry <= endedBy
        return isReceipt || isExpiry
    }

    /// Returns a limit by which an event is too old if it is too old by one of the two.
    func union(_ other: AgeLimit) -> AgeLimit {
        AgeLimit(receivedBy: max(receivedBy, other.receivedBy), endedBy: max(endedBy, other.endedBy))
    }
}

/// The sweeper's query to a store: events of a range that are too old and were not in the previous pass (Behaviour Q4).
public struct AgedRange: Sendable, Equatable {
    /// The event before the range.
    public var after: SequenceNumber
    /// The last event of the range.
    public var through: SequenceNumber
    public var limit: AgeLimit
    /// The limit of the previous pass over the range; nil if there was none.
    public var earlier: AgeLimit?

    public init(after: SequenceNumber, through: SequenceNumber, limit: AgeLimit, earlier: AgeLimit?) {
        self.after = after
        self.through = through
        self.limit = limit
        self.earlier = earlier
    }

    /// Returns true if a group may contain a matching event.
    public func includes(_ ages: GroupAges) -> Bool {
        limit.mayBeExceeded(by: ages, since: earlier ?? .none)
    }
}

/// The times at which the events of a group become too old, on the age scale in milliseconds. With them a sweep skips
/// groups without old events (Behaviour Q4, Q6).
public struct GroupAges: Sendable, Equatable {
    /// The time of receipt of the first event.
    public private(set) var firstReceipt = Int64.max
    /// The time of receipt of the last event.
    public private(set) var lastReceipt = Int64.min
    /// The earliest end of an event's own time to live; `Int64.max` if no event has one.
    public private(set) var firstExpiry = Int64.max
    /// The latest end of an event's own time to live; `Int64.min` if no event has one.
    public private(set) var lastExpiry = Int64.min

    /// Creates a value for no events.
    public init() {}

    /// Creates a value from numbers that a store has saved.
    public init(firstReceipt: Int64, lastReceipt: Int64, firstExpiry: Int64, lastExpiry: Int64) {
        (self.firstReceipt, self.lastReceipt) = (firstReceipt, lastReceipt)
        (self.firstExpiry, self.lastExpiry) = (firstExpiry, lastExpiry)
    }

    /// Creates a value for the events of a chunk.
    public init(_ chunk: Chunk) {
        for event in chunk { add(receivedStamp: event.receivedStamp, expiryStamp: event.header.expiryStamp) }
    }

    /// Adds the events of another group.
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

    /// Adds an event.
    /// - Parameter expiryStamp: the end of the event's own time to live; 0 if it has none.
    private mutating func add(receivedStamp: Int64, expiryStamp: Int64) {
        firstReceipt = min(firstReceipt, receivedStamp)
        lastReceipt = max(lastReceipt, receivedStamp)
        guard expiryStamp != 0 else { return }
        firstExpiry = min(firstExpiry, expiryStamp)
        lastExpiry = max(lastExpiry, expiryStamp)
    }
}
