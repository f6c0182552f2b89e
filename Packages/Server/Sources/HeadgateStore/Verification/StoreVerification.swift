import HeadgateCore

/// Reads a log as a start does, with every event and dead letter, and reports its content and its damage. It changes
/// nothing (`headgated --verify`, Behaviour Q8).
public struct StoreVerification {
    /// The data directory.
    private let directory: String

    public init(directory: String) {
        self.directory = directory
    }

    /// Returns true if some dispatcher has events to send in the log, or there are dead letters.
    package func holdsAnything() throws(StoreFault) -> Bool {
        let state = try open().state
        return !state.warnings.isEmpty || state.letters.events > 0
            || state.unsettled.values.contains { $0.total.events > 0 }
    }

    /// - Throws: an error if a daemon uses the log, or it cannot be read at all.
    public func run() throws(StoreFault) -> StoreReport {
        let opened = try open()
        var report = StoreReport(kind: "log", state: opened.state)
        report.diskBytes = opened.engine.diskBytes
        var place: SequenceNumber = 0
        while let chunk = try opened.engine.read(after: place).get() {
            report.events += chunk.reduce(0) { $1.sequenceNumber > place ? $0 + 1 : $0 }
            place = chunk.lastSequenceNumber
        }
        try countLetters(opened.engine, in: &report)
        report.damaged = opened.engine.takeQuarantined()
        return report
    }

    private func open() throws(StoreFault) -> OpenedStore {
        var options = StoreOptions(directory: directory)
        options.disk = OverlayDisk()
        return try options.open()
    }

    private func countLetters(_ engine: LogEngine, in report: inout StoreReport) throws(StoreFault) {
        var query = DeadLetterQuery(limit: 1_000)
        while true {
            let page = try engine.readLetters(query).get()
            report.letters += page.letters.count
            report.damagedLetters += page.letters.count { $0.letter.event == nil }
            guard let next = page.next else { return }
            query.after = next
        }
    }
}

/// The content of an event store, for people.
public struct StoreReport {
    private let kind: String
    private let state: StoredState
    /// The bytes of the store's files.
    package var diskBytes = 0
    package var events = 0
    package var letters = 0
    /// The number of dead letters whose event cannot be read.
    package var damagedLetters = 0
    /// The number of events that cannot be read.
    package var damaged = 0

    package init(kind: String, state: StoredState) {
        (self.kind, self.state) = (kind, state)
    }

    /// True if nothing is damaged.
    public var isSound: Bool { damaged == 0 && damagedLetters == 0 && state.warnings.isEmpty }

    public func lines(_ directory: String) -> [String] {
        var lines = [
            "\(directory): an event store of kind \(kind), \(diskBytes) bytes",
            "events: \(events), last sequence number \(state.lastSequenceNumber)",
        ]
        lines += state.dispatchers.sorted { $0.number < $1.number }.map { dispatcher in
            let waiting = state.unsettled[dispatcher.number]?.total ?? .zero
            let gone = dispatcher.orphanedSince == nil ? "" : ", no longer configured"
            return "  \(dispatcher.id): \(waiting.events) pending, \(waiting.bytes) bytes\(gone)"
        }
        lines.append("dead letters: \(letters)")
        lines.append("remembered ids: \(state.recentIDs.reduce(0) { $0 + $1.count })")
        lines += state.warnings.map { "damaged: \($0)" }
        if damaged > 0 { lines.append("damaged: \(damaged) events cannot be read") }
        if damagedLetters > 0 { lines.append("damaged: \(damagedLetters) dead letters cannot be read") }
        lines += state.notes.map { "note: \($0)" }
        if isSound { lines.append(state.notes.isEmpty ? "no damage found" : "no other damage found") }
        return lines
    }
}
