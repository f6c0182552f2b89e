/// Where accepted events are kept until every dispatcher has settled them (Behaviour Q1).
///
/// A log of segments is the default, SQLite the alternative, and ``MemoryEventStore`` serves tests and `durability: memory`; a program may bring
/// another. All is called on the scheduler, and each `then` is called on the scheduler, later: never before the call returns.
/// Appends are carried out in the order given, and so are writes.
public protocol EventStore: AnyObject {
    /// What `status` calls it, like `sqlite`.
    var kind: String { get }
    /// Bytes that it takes on a disk (`status`, Behaviour Q10); 0 for one in memory.
    var diskBytes: Int { get }
    /// How long it took to bring what was written onto the disk, since the start (Behaviour O1).
    var syncing: Histogram { get }
    /// The dead letters that it keeps, and the bytes of their events: true as of the last answer to a write, an append or a purge
    /// (Behaviour D10).
    var letters: Tally { get }
    /// Called on the scheduler when dead letters had to make room for newer ones, with how many of each dispatcher's they were
    /// (Behaviour D10, O4).
    var onLettersDropped: ([DispatcherNumber: Int]) -> Void { get set }
    /// Opens the store and tells what it keeps. Called once, first; may take its time.
    func open() throws(StoreFault) -> StoredState
    /// Keeps a group of events; `then` gets nil once they are as safe as the configured durability asks
    /// (Behaviour Q5). A group is kept whole or not at all, and only where the one is that it goes on from
    /// (``AppendGroup/behind``). The next may be asked for before it is answered: a store commits together what waits.
    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void)
    /// Reads the events behind a sequence number, some at a time, from the lowest; nil when there are none. A chunk may
    /// begin with some that come before.
    func read(after sequenceNumber: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void)
    /// Reads events of a stretch of which some are too old, from the lowest, some at a time; nil when there are none. A
    /// chunk may hold others as well, but none of those asked for may lie between those it holds and be left out.
    func readAged(_ stretch: AgedStretch, then: @escaping (Result<Chunk?, StoreFault>) -> Void)
    /// Takes a survey further: over some of what is behind its place, as much as holds up nobody for long.
    func survey(_ survey: EventSurvey, then: @escaping (Result<EventSurvey, StoreFault>) -> Void)
    /// Makes changes, all or none. They survive the process; a power failure may undo the latest.
    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void)
    /// Reads dead letters, the oldest first (Behaviour D10).
    func readLetters(_ query: LetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void)
    /// Deletes dead letters, the oldest first; `then` gets how many there were. It survives the process.
    func purgeLetters(_ query: LetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void)
    /// Finishes what was asked for and closes; `then` is the last call.
    func close(then: @escaping () -> Void)
}

extension EventStore {
    public var diskBytes: Int { 0 }
    /// A store that syncs nothing, or does not tell.
    public var syncing: Histogram { Histogram(.seconds) }

    /// A store that does not tell: nothing bounds its dead letters.
    public var letters: Tally { .zero }

    /// A store that drops none, or does not tell.
    public var onLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { { _ in } }
        set {}
    }

    /// A store that does not know how old its events are gives all.
    public func readAged(_ stretch: AgedStretch, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        read(after: stretch.after, then: then)
    }
}

/// Why a store did not do as asked. The words are for the log and never cross the socket.
public enum StoreFault: Error, Equatable, Sendable {
    /// No room on the disk. Room that comes back is used without a restart (Behaviour Q8).
    case noRoom(String)
    /// Another daemon uses the data directory (Behaviour Q9).
    case inUse(String)
    /// The data were written by a newer version; they are left untouched.
    case newerVersion(String)
    /// Anything else.
    case failed(String)

    /// A group cannot be kept, since one is not there that it goes on from (``AppendGroup/behind``).
    public static let nothingToGoOnFrom = StoreFault.failed("events before these could not be stored")

    /// What went wrong, for people.
    public var message: String {
        switch self {
        case .noRoom(let message), .inUse(let message), .newerVersion(let message), .failed(let message): message
        }
    }
}

/// Events that are committed together (Behaviour Q5). It is made once, and handed from one to the next: what it holds is not copied
/// for that.
public final class AppendGroup: Sendable {
    public let chunk: Chunk
    /// The newest event of the group that it goes on from; 0 where it goes on from none. Its events may have been offered while that one was
    /// on its way, and rely on it: a store that could not keep that one must not keep this one.
    public let behind: SequenceNumber
    /// What the chunk holds of each route, so that a start needs not read the events to count them.
    public let tallies: RouteTallies
    /// When its events become too old.
    public let ages: GroupAges
    /// Routes that are used for the first time.
    public let newRoutes: [RouteNumber: [DispatcherNumber]]
    /// What must be kept with the events at the latest. What of it the store has already stays as it is, but for since when a
    /// dispatcher is gone.
    public let groundwork: Groundwork
    /// The clients' own ids among the events; nil when there are none.
    public let recentIDs: RecentIDs?
    /// The ids of events up to and including this one are no longer remembered: a store lets go of them bit by bit.
    public let forgottenIDs: SequenceNumber
    /// Dead letters whose events are in the chunk again: they go with the commit, so that a crash neither loses an event
    /// nor sends it twice (Behaviour D10). One that is not there any more is no fault.
    public let requeued: [LetterNumber]

    public init(
        chunk: Chunk, behind: SequenceNumber = 0, tallies: RouteTallies, ages: GroupAges,
        newRoutes: [RouteNumber: [DispatcherNumber]], groundwork: Groundwork = Groundwork(), recentIDs: RecentIDs?,
        forgottenIDs: SequenceNumber = 0, requeued: [LetterNumber] = []
    ) {
        self.chunk = chunk
        self.behind = behind
        self.tallies = tallies
        self.ages = ages
        self.newRoutes = newRoutes
        self.groundwork = groundwork
        self.recentIDs = recentIDs
        self.forgottenIDs = forgottenIDs
        self.requeued = requeued
    }
}

/// A change to what a store keeps beside the events.
public enum StoreChange: Sendable, Equatable {
    /// A dispatcher appeared, came back or went away.
    case dispatcher(StoredDispatcher)
    /// A dispatcher, its queue and its dead letters are given up.
    case forgetDispatcher(DispatcherNumber)
    /// All that a dispatcher has settled by now.
    case settled(DispatcherNumber, Settled)
    /// An event is given up by its dispatcher and put aside (Behaviour D10).
    case deadLetter(DeadLetter)
    /// No dispatcher needs the events up to and including this one. A store may keep them longer, but must remember
    /// its highest sequence number in any case.
    case trim(through: SequenceNumber)
    /// No dispatcher needs events of these routes, and none will come: their numbers are not used again for long.
    case forgetRoutes([RouteNumber])
    /// The ids of events up to and including this one are no longer remembered.
    case forgetIDs(through: SequenceNumber)
    /// The oldest dead letters go until the others are within these bounds; the newest stays in any case (Behaviour D10).
    case limitLetters(LetterBounds)
    /// Something small to keep under a name, like the state of a ManualBarrier; nil takes it away.
    case keep(String, [UInt8]?)
}

/// What a store gives back when it is opened.
public struct StoredState: Sendable {
    /// Every dispatcher that was ever configured and has not been forgotten.
    public var dispatchers: [StoredDispatcher] = []
    public var routes: [RouteNumber: [DispatcherNumber]] = [:]
    /// The highest sequence number ever given, 0 when there was none.
    public var lastSequenceNumber: SequenceNumber = 0
    /// What each dispatcher has not settled, by route.
    public var unsettled: [DispatcherNumber: RouteTallies] = [:]
    /// The clients' own ids, oldest first. What is beyond the window may be among them, or left out.
    public var recentIDs: [RecentIDs] = []
    /// The receipt of the newest event, on the age scale in milliseconds; nil where it is not known.
    public var newestStamp: Int64?
    /// What was kept under a name.
    public var kept: [String: [UInt8]] = [:]
    /// The dead letters, and the bytes of their events.
    public var letters = Tally.zero
    /// What had to be repaired or set aside, for the log and for `status` (Behaviour Q8).
    public var warnings: [String] = []
    /// What people may want to know of it, for the log: nothing of which it is known that something was lost.
    public var notes: [String] = []

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

/// Someone who waits for a store: told nil, or why it did not do as asked.
struct StoreWaiter {
    let tell: (StoreFault?) -> Void
}

extension [StoreWaiter] {
    /// Tells all, in order.
    func tell(_ fault: StoreFault?) {
        for waiter in self { waiter.tell(fault) }
    }
}
