/// A store of accepted events until every dispatcher has settled them (Behaviour Q1).
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
    var deadLetterTally: Tally { get }
    /// Called on the scheduler when dead letters were dropped to make room for newer ones, with their number per
    /// dispatcher (Behaviour D10, O4).
    var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void { get set }
    /// True if the store can keep settled events and make them unsettled again (Behaviour R1, R2). Settings and calls
    /// that need it are refused otherwise.
    var canRewind: Bool { get }
    /// The events that are kept although every dispatcher has settled them, as of the store's last review (Behaviour
    /// R1).
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
    func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void)
    /// Continues a scan: processes the next part of the store that can be scanned without a noticeable delay.
    func scan(_ scan: EventScan, then: @escaping (Result<EventScan, StoreFault>) -> Void)
    /// Makes all of the changes or none. They survive a crash of the process; a power failure may undo the latest
    /// changes.
    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void)
    /// Reads dead letters, the oldest first (Behaviour D10).
    func readDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void)
    /// Deletes dead letters, the oldest first. `then` gets their number. The deletion survives a crash of the process.
    func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void)
    /// Makes a dispatcher's events unsettled again, from an event or a time on. The result has the events of all earlier
    /// appends and of no later ones. It is called only if ``canRewind``.
    func rewind(_ request: RewindRequest, then: @escaping (Result<RewindOutcome, StoreFault>) -> Void)
    /// True if the store can encrypt what it keeps, or keeps nothing (Behaviour C1). A setting that needs it is refused
    /// otherwise.
    var canEncrypt: Bool { get }
    /// True if the store can erase events (Behaviour E1). Calls that need it are refused otherwise.
    var canErase: Bool { get }
    /// Continues a scan for an erasure: processes the next part of the store that can be scanned without a noticeable
    /// delay.
    func scan(_ scan: ErasureScan, then: @escaping (Result<ErasureScan, StoreFault>) -> Void)
    /// Erases events for all dispatchers, and dead letters. The erasure survives a power failure: afterwards nothing
    /// reads or counts the events. Their bytes may stay until ``removeErasedBytes(then:)`` is complete.
    func erase(
        _ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber],
        then: @escaping (Result<Void, StoreFault>) -> Void)
    /// Does a step of the removal of the bytes of erased events. `then` gets true once no file has any. After a failure
    /// it is called again later.
    func removeErasedBytes(then: @escaping (Result<Bool, StoreFault>) -> Void)
    /// Begins a copy of the store, which is used meanwhile. Returns nil if the store cannot copy itself.
    /// - Parameter names: the names of kept values that the copy leaves out.
    func beginBackup(without names: [String]) -> (any StoreBackup)?
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

    /// The default for stores that cannot encrypt.
    public var canEncrypt: Bool { false }

    /// The default for stores that cannot erase.
    public var canErase: Bool { false }

    /// The default for stores that cannot erase.
    public func scan(_ scan: ErasureScan, then: @escaping (Result<ErasureScan, StoreFault>) -> Void) {
        preconditionFailure("the store `\(kind)` cannot erase")
    }

    /// The default for stores that cannot erase.
    public func erase(
        _ events: [SequenceNumber], _ deadLetters: [DeadLetterNumber],
        then: @escaping (Result<Void, StoreFault>) -> Void
    ) {
        preconditionFailure("the store `\(kind)` cannot erase")
    }

    /// The default for stores that cannot erase.
    public func removeErasedBytes(then: @escaping (Result<Bool, StoreFault>) -> Void) {
        preconditionFailure("the store `\(kind)` cannot erase")
    }

    /// The default for stores that cannot copy themselves.
    public func beginBackup(without names: [String]) -> (any StoreBackup)? { nil }

    /// The default for stores that do not count dead letters, which are then not limited.
    public var deadLetterTally: Tally { .zero }

    /// The default for stores that never drop dead letters.
    public var onDeadLettersDropped: ([DispatcherNumber: Int]) -> Void {
        get { { _ in } }
        set {}
    }

    /// The default for stores that do not know the age of events: it reads all events of the range.
    public func readAged(_ range: AgedRange, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {
        read(after: range.after, then: then)
    }
}
