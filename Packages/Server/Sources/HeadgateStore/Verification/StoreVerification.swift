import HeadgateCore

/// Reads a data directory as a start would, with every event and dead letter in it, and tells what is there and what is damaged; nothing
/// of it is changed (`headgated --verify`, Behaviour Q8).
public struct StoreVerification {
    /// The data directory.
    public let directory: String

    public init(directory: String) {
        self.directory = directory
    }

    /// What there is, for people, and whether all of it is sound.
    /// - Throws: when there is no store, a daemon uses it, or it cannot be read at all.
    public func run() throws(StoreFault) -> (lines: [String], isSound: Bool) {
        let disk = OverlayDisk()
        let hasDatabase = disk.exists(directory + "/events.db")
        let hasLog = disk.exists(directory + "/log")
        guard hasDatabase || hasLog else { throw .failed("there is no event store in \(directory)") }
        var options = StoreOptions(directory: directory)
        options.kind = hasLog ? .log : .sqlite
        options.disk = disk
        guard hasDatabase else { return try read(options) }
        // SQLite cannot read what is in its log without writing, and a move that was interrupted has to do with both.
        let lock = try DataDirectory(directory, on: disk)
        defer { withExtendedLifetime(lock) {} }
        let copy = try DirectoryCopy(of: directory)
        (options.directory, options.disk) = (copy.path, SystemDisk())
        return try read(options)
    }

    private func read(_ options: StoreOptions) throws(StoreFault) -> (lines: [String], isSound: Bool) {
        var content = try StoreSurvey(try options.open())
        content.rename { $0.replacing(options.directory, with: directory) }
        return (content.lines(directory), content.isSound)
    }
}

/// What a store was found to hold.
private struct StoreSurvey {
    private let kind: StoreKind
    private let diskBytes: Int
    private let state: StoredState
    private var events = 0
    private var letters = 0
    private var damagedLetters = 0
    private var damaged = 0
    private var warnings: [String]
    private var notes: [String]

    var isSound: Bool { damaged == 0 && damagedLetters == 0 && warnings.isEmpty }

    init(_ opened: OpenedStore) throws(StoreFault) {
        (kind, state) = (opened.kind, opened.state)
        (warnings, notes) = (state.warnings, state.notes)
        diskBytes = opened.engine.diskBytes
        var place: SequenceNumber = 0
        while let chunk = try opened.engine.read(after: place).get() {
            events += chunk.reduce(0) { $1.sequenceNumber > place ? $0 + 1 : $0 }
            place = chunk.lastSequenceNumber
        }
        try countLetters(opened.engine)
        damaged = opened.leftBehind + opened.engine.takeQuarantined()
    }

    private mutating func countLetters(_ engine: any StoreEngine) throws(StoreFault) {
        var query = LetterQuery(limit: 1_000)
        while true {
            let page = try engine.readLetters(query).get()
            letters += page.letters.count
            damagedLetters += page.letters.count { $0.letter.event == nil }
            guard let next = page.next else { return }
            query.after = next
        }
    }

    /// Other paths than those of a copy are for people.
    mutating func rename(_ path: (String) -> String) {
        (warnings, notes) = (warnings.map(path), notes.map(path))
    }

    func lines(_ directory: String) -> [String] {
        var lines = [
            "\(directory): an event store of kind \(kind.rawValue), \(diskBytes) bytes",
            "events: \(events), the last number given is \(state.lastSequenceNumber)",
        ]
        lines += state.dispatchers.sorted { $0.number < $1.number }.map { dispatcher in
            let waiting = state.unsettled[dispatcher.number]?.total ?? .zero
            let gone = dispatcher.orphanedSince == nil ? "" : ", not configured any more"
            return "  \(dispatcher.id): \(waiting.events) wait, \(waiting.bytes) bytes\(gone)"
        }
        lines.append("dead letters: \(letters)")
        lines.append("remembered ids: \(state.recentIDs.reduce(0) { $0 + $1.count })")
        lines += warnings.map { "damaged: \($0)" }
        if damaged > 0 { lines.append("damaged: \(damaged) events cannot be read") }
        if damagedLetters > 0 { lines.append("damaged: \(damagedLetters) dead letters cannot be read") }
        lines += notes.map { "note: \($0)" }
        if isSound { lines.append(notes.isEmpty ? "nothing is damaged" : "nothing else is damaged") }
        return lines
    }
}
