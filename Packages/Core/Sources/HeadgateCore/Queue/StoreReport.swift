/// The content of an event store, for people (Behaviour Q8).
public struct StoreReport: Sendable {
    private let kind: String
    private var state: StoredState
    /// The findings in a store whose key is missing; nil if its events were read (Behaviour C3).
    private var locked: (reason: String, files: Int, frames: Int)?
    /// The bytes of the store's files.
    public var diskBytes = 0
    public private(set) var events = 0
    public private(set) var deadLetters = 0
    /// The number of dead letters whose event cannot be read.
    public private(set) var damagedDeadLetters = 0
    /// The number of events that cannot be read.
    public var damaged = 0

    /// Reads all events and dead letters of a store, and counts them.
    /// - Parameters:
    ///   - kind: the name of the kind of store.
    ///   - read: reads some events after a sequence number.
    public init(
        kind: String, state: StoredState, read: (SequenceNumber) -> Result<Chunk?, StoreFault>,
        readDeadLetters: (DeadLetterQuery) -> Result<StoredDeadLetterPage, StoreFault>
    ) throws(StoreFault) {
        (self.kind, self.state) = (kind, state)
        var position: SequenceNumber = 0
        while let chunk = try read(position).get() {
            events += chunk.reduce(0) { $1.sequenceNumber > position ? $0 + 1 : $0 }
            position = chunk.lastSequenceNumber
        }
        var query: DeadLetterQuery? = DeadLetterQuery(limit: 1_000)
        while let requested = query {
            let page = try readDeadLetters(requested).get()
            deadLetters += page.deadLetters.count
            damagedDeadLetters += page.deadLetters.count { $0.deadLetter.event == nil }
            if let next = page.next { query?.after = next } else { query = nil }
        }
    }

    /// Creates the report about an encrypted store whose key is missing: only its checksums were verified.
    /// - Parameters:
    ///   - reason: the reason why the events cannot be read.
    ///   - damage: a description of each damaged range.
    public init(kind: String, reason: String, files: Int, frames: Int, bytes: Int, damage: [String]) {
        (self.kind, state, locked, diskBytes) = (kind, StoredState(), (reason, files, frames), bytes)
        state.warnings = damage
    }

    /// True if nothing is damaged.
    public var isSound: Bool { damaged == 0 && damagedDeadLetters == 0 && state.warnings.isEmpty }

    public func lines(_ directory: String) -> [String] {
        let title = "\(directory): an event store of kind \(kind), \(diskBytes) bytes"
        if let locked {
            let seen = "only the checksums of \(locked.files) files with \(locked.frames) frames were verified"
            return [title, locked.reason, seen] + state.warnings.map { "damaged: \($0)" }
                + (isSound ? ["no damage found"] : [])
        }
        var lines = [title, "events: \(events), last sequence number \(state.lastSequenceNumber)"]
        lines += state.dispatchers.sorted { $0.number < $1.number }.map { dispatcher in
            let waiting = state.unsettled[dispatcher.number]?.total ?? .zero
            let gone = dispatcher.orphanedSince == nil ? "" : ", no longer configured"
            return "  \(dispatcher.id): \(waiting.events) pending, \(waiting.bytes) bytes\(gone)"
        }
        lines.append("dead letters: \(deadLetters)")
        lines.append("remembered ids: \(state.recentIDs.reduce(0) { $0 + $1.count })")
        lines += state.warnings.map { "damaged: \($0)" }
        if damaged > 0 { lines.append("damaged: \(damaged) events cannot be read") }
        if damagedDeadLetters > 0 { lines.append("damaged: \(damagedDeadLetters) dead letters cannot be read") }
        lines += state.notes.map { "note: \($0)" }
        if isSound { lines.append(state.notes.isEmpty ? "no damage found" : "no other damage found") }
        return lines
    }
}
