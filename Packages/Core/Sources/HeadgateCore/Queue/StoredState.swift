/// What a store gives back when it is opened.
public struct StoredState: Sendable {
    /// Every dispatcher that was ever configured and has not been forgotten.
    public var dispatchers: [StoredDispatcher] = []
    public var routes: [RouteNumber: [DispatcherNumber]] = [:]
    /// The highest sequence number ever given, 0 when there was none.
    public var lastSequenceNumber: SequenceNumber = 0
    /// What each dispatcher has not settled, by route.
    public var unsettled: [DispatcherNumber: [RouteNumber: Tally]] = [:]
    /// The clients' own ids, oldest first. What is beyond the window may be among them, or left out.
    public var recentIDs: [RecentIDs] = []
    /// The receipt of the newest event, on the age scale in milliseconds; nil where it is not known.
    public var newestStamp: Int64?
    /// What was kept under a name.
    public var kept: [String: [UInt8]] = [:]
    /// What had to be repaired or set aside, for the log and for `status` (Behaviour Q8).
    public var warnings: [String] = []

    public init() {}
}

/// A dispatcher as a store remembers it.
public struct StoredDispatcher: Sendable, Equatable {
    public var number: DispatcherNumber
    public var id: String
    public var settled: Settled
    /// Since when it has not been configured, on the age scale in milliseconds; nil while it is (Behaviour Q3).
    public var orphanedSince: Int64?

    public init(number: DispatcherNumber, id: String, settled: Settled, orphanedSince: Int64? = nil) {
        self.number = number
        self.id = id
        self.settled = settled
        self.orphanedSince = orphanedSince
    }

    /// All events up to and including this one are settled.
    public var position: SequenceNumber { settled.position }
}

/// What is remembered of the ids that clients gave to a group of events.
public struct RecentIDs: Sendable, Equatable {
    /// The highest sequence number of the group.
    public var lastSequenceNumber: SequenceNumber
    /// When the newest was received, on the age scale in milliseconds.
    public var receivedStamp: Int64
    public var count: Int
    /// How the bytes are to be read.
    public var form: Form
    public var bytes: [UInt8]

    /// How ids are kept. A store keeps the number beside the bytes.
    public enum Form: Int64, Sendable {
        /// As they are: so older versions kept them.
        case plain = 1
        /// Hashed, under a key that is kept.
        case fingerprints = 2
    }

    public init(
        lastSequenceNumber: SequenceNumber, receivedStamp: Int64, count: Int, form: Form = .fingerprints,
        bytes: [UInt8]
    ) {
        self.lastSequenceNumber = lastSequenceNumber
        self.receivedStamp = receivedStamp
        self.count = count
        self.form = form
        self.bytes = bytes
    }
}
