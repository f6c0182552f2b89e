/// The state that a store returns when it is opened.
public struct StoredState: Sendable {
    /// All dispatchers that were ever configured and whose queue has not been deleted.
    public var dispatchers: [StoredDispatcher] = []
    public var routes: [RouteNumber: [DispatcherNumber]] = [:]
    /// The highest sequence number ever assigned; 0 if there was none.
    public var lastSequenceNumber: SequenceNumber = 0
    /// The unsettled events of each dispatcher, by route.
    public var unsettled: [DispatcherNumber: RouteTallies] = [:]
    /// The clients' own ids, the oldest first. Ids outside the dedupe window may be included or not.
    public var recentIDs: [RecentIDs] = []
    /// The time of receipt of the newest event, on the age scale in milliseconds; nil if unknown.
    public var newestStamp: Int64?
    /// The small values that were stored by name.
    public var kept: [String: [UInt8]] = [:]
    /// The number of dead letters and the size of their events.
    public var deadLetterTally = Tally.zero
    /// True if an erasure is under way: bytes of erased events may still be on the disk (Behaviour E2).
    public var isErasing = false
    /// Repairs and files that were set aside, for the log and for `status` (Behaviour Q8).
    public var warnings: [String] = []
    /// The number of events that were found damaged when the store was opened. Their dispatchers are unknown
    /// (Behaviour Q8).
    public var quarantined = 0
    /// Notes for the log that are not about lost data.
    public var notes: [String] = []

    public init() {}

    /// True if some dispatcher has events to send, or there are dead letters.
    public var holdsAnything: Bool { deadLetterTally.events > 0 || unsettled.values.contains { $0.total.events > 0 } }
}
