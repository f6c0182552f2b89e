/// Stores accepted events until every dispatcher has settled them (Behaviour Q1).
///
/// The default is a log of segments, the alternative SQLite. ``MemoryEventStore`` serves tests and `durability:
/// memory`. A program may provide another store. All functions are called on the scheduler. Each `then` is called on
/// the scheduler after the function has returned. Appends are executed in the order of the calls, and so are writes.
public protocol EventStore: AnyObject {
    /// The kind of store that `status` shows, like `sqlite`.
    var kind: String { get }
    /// The size on disk in bytes (`status`, Behaviour Q10); 0 for a store in memory.
    var diskBytes: Int { get }
    /// The durations of syncing writes to disk since the start (Behaviour O1).
    var syncing: Histogram { get }
    /// The number of stored dead letters and the size of their events, as of the last answered write, append or purge
    /// (Behaviour D10).
    var letters: Tally { get }
    /// Called on the scheduler when dead letters were dropped to make room for newer ones, with their number per
    /// dispatcher (Behaviour D10, O4).
    var onLettersDropped: ([DispatcherNumber: Int]) -> Void { get set }
    /// True if the store can keep settled events and make them unsettled again (Behaviour R1, R2). Settings and calls
    /// that need it are refused otherwise.
    var canRewind: Bool { get }
    /// The events that are kept although every dispatcher has settled them, as of the store's last look (Behaviour R1).
    var retained: RetainedEvents { get }
    /// Opens the store and returns its state. It is called once, before all other functions, and may block.
    func open() throws(StoreFault) -> StoredState
    /// Stores a group of events. `then` gets nil once they are as durable as configured (Behaviour Q5).
    ///
    /// A group is stored as a whole or not at all, and only if the group that it depends on is stored
    /// (``AppendGroup/behind``). The next group may be appended before the answer: a store commits waiting groups
    /// together.
    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void)
    /// Reads some of the events after a sequence number, the lowest first; nil if there are none. The chunk may begin
    /// with events up to that number.
    func read(after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void)
    /// Reads some of the events that are too old in a range, the lowest first; nil if there are none. The chunk may
    /// contain other events, but it leaves out no matching event between its first and its last one.
    func readAged(_ stretch: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void)
    /// Continues a scan: processes the next part of the store that can be scanned without a noticeable delay.
    func survey(_ survey: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void)
    /// Makes all of the changes or none. They survive a crash of the process; a power failure may undo the latest
    /// changes.
    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void)
    /// Reads dead letters, the oldest first (Behaviour D10).
    func readLetters(_ query: DeadLetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void)
    /// Deletes dead letters, the oldest first. `then` gets their number. The deletion survives a crash of the process.
    func purgeLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void)
    /// Makes a dispatcher's events from a place on unsettled again. The result is that of this moment: it contains the
    /// events of all earlier appends and of no later ones. It is called only if ``canRewind``.
    func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void)
    /// Finishes all requested operations and closes the store. `then` is called last.
    func close(then: @escaping () -> Void)
}

extension EventStore {
    public var diskBytes: Int { 0 }
    /// The default for stores that sync nothing or do not measure it.
    public var syncing: Histogram { Histogram(.seconds) }

    /// The default for stores that delete what is settled.
    public var canRewind: Bool { false }

    /// The default for stores that retain nothing.
    public var retained: RetainedEvents { .none }

    /// The default for stores that cannot rewind.
    public func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void) {
        preconditionFailure("the store `\(kind)` cannot rewind")
    }

    /// The default for stores that do not count dead letters, which are then not limited.
    public var letters: Tally { .zero }

    /// The default for stores that never drop dead letters.
    public var onLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { { _ in } }
        set {}
    }

    /// The default for stores that do not know the age of events: it reads all events of the range.
    public func readAged(_ stretch: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        read(after: stretch.after, then: then)
    }
}

/// The reason for a failed operation of a store. The message is meant for the log and is never sent to clients.
public enum StoreFault: Error, Equatable, Sendable {
    /// The disk is full. Room that becomes free is used without a restart (Behaviour Q8).
    case noRoom(String)
    /// Another daemon uses the data directory (Behaviour Q9).
    case inUse(String)
    /// The data were written by a newer version. They are left unchanged.
    case newerVersion(String)
    /// Any other failure.
    case failed(String)

    /// A group cannot be stored because the group that it depends on is missing (``AppendGroup/behind``).
    public static let nothingToGoOnFrom = StoreFault.failed("events before these could not be stored")

    /// The description of the failure, for people.
    public var message: String {
        switch self {
        case .noRoom(let message), .inUse(let message), .newerVersion(let message), .failed(let message): message
        }
    }
}

/// Events that are committed together (Behaviour Q5). It is a class so that handing it on copies nothing.
public final class AppendGroup: Sendable {
    public let chunk: Chunk
    /// The newest event of the group that this group depends on; 0 if it depends on none. Events of this group may be
    /// duplicates of that group's events, so a store that failed to store that group must not store this one.
    public let behind: SequenceNumber
    /// The events of the chunk by route, so that a start can count events without reading them.
    public let tallies: RouteTallies
    /// The times at which its events become too old.
    public let ages: GroupAges
    /// Routes that are used for the first time, with their dispatchers.
    public let newRoutes: [RouteNumber: [DispatcherNumber]]
    /// State that must be saved with the events at the latest. State that the store already has is not overwritten,
    /// except for the time since when a dispatcher is gone.
    public let initialState: InitialState
    /// The clients' own ids of the events; nil if there are none.
    public let recentIDs: RecentIDs?
    /// The ids of events up to this sequence number are forgotten. A store may delete them gradually.
    public let forgottenIDs: SequenceNumber
    /// Dead letters whose events are in the chunk again. They are deleted in the same commit, so that a crash neither
    /// loses an event nor sends it twice (Behaviour D10). A letter that does not exist any more is not a fault.
    public let requeued: [LetterNumber]

    public init(
        chunk: Chunk, behind: SequenceNumber = 0, tallies: RouteTallies, ages: GroupAges,
        newRoutes: [RouteNumber: [DispatcherNumber]], initialState: InitialState = InitialState(),
        recentIDs: RecentIDs?,
        forgottenIDs: SequenceNumber = 0, requeued: [LetterNumber] = []
    ) {
        self.chunk = chunk
        self.behind = behind
        self.tallies = tallies
        self.ages = ages
        self.newRoutes = newRoutes
        self.initialState = initialState
        self.recentIDs = recentIDs
        self.forgottenIDs = forgottenIDs
        self.requeued = requeued
    }
}

/// A change of the state that a store keeps beside the events.
public enum StoreChange: Sendable, Equatable {
    /// A dispatcher was added, came back or was removed.
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
    /// No dispatcher needs events of these routes, and there will be no more. Their numbers are not reused for a long
    /// time.
    case forgetRoutes([RouteNumber])
    /// The ids of events up to this sequence number are forgotten.
    case forgetIDs(through: SequenceNumber)
    /// The oldest dead letters are deleted until the rest is within the limits. The newest letter is always kept
    /// (Behaviour D10).
    case limitLetters(DeadLetterLimits)
    /// A small value to keep under a name, like the state of a ManualBarrier. Nil deletes the value.
    case keep(String, [UInt8]?)
    /// Settled events are kept within limits from now on; nil keeps none (Behaviour R1). Only stores that can rewind
    /// get it.
    case retain(Retention?)
}

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
    public var letters = Tally.zero
    /// Repairs and files that were set aside, for the log and for `status` (Behaviour Q8).
    public var warnings: [String] = []
    /// Notes for the log that are not about lost data.
    public var notes: [String] = []

    public init() {}
}

/// A dispatcher as it is stored.
public struct StoredDispatcher: Sendable, Equatable {
    public var number: DispatcherNumber
    public var id: String
    public var settled: Settled
    /// The time since when the dispatcher is not configured, on the age scale in milliseconds; nil while it is
    /// configured (Behaviour Q3).
    public var orphanedSince: Int64?

    public init(number: DispatcherNumber, id: String, settled: Settled, orphanedSince: Int64? = nil) {
        self.number = number
        self.id = id
        self.settled = settled
        self.orphanedSince = orphanedSince
    }

    /// All events up to this sequence number are settled.
    public var position: SequenceNumber { settled.position }
}

/// The clients' own ids of a group of events.
public struct RecentIDs: Sendable, Equatable {
    /// The highest sequence number of the group.
    public var lastSequenceNumber: SequenceNumber
    /// The time of receipt of the newest event, on the age scale in milliseconds.
    public var receivedStamp: Int64
    public var count: Int
    /// The encoding of ``bytes``.
    public var form: Form
    public var bytes: [UInt8]

    /// The encoding of ids. A store saves its number with the bytes.
    public enum Form: Int64, Sendable {
        /// Namespaces and ids in plain text, as older versions wrote them.
        case plain = 1
        /// Fingerprints under the store's key.
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

/// A waiter for a store operation. It is notified with nil, or with the fault.
struct StoreWaiter {
    let tell: (StoreFault?) -> Void
}

extension [StoreWaiter] {
    /// Notifies all waiters in order.
    func tell(_ fault: StoreFault?) {
        for waiter in self { waiter.tell(fault) }
    }
}
