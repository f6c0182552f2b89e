import Glibc
import HeadgateCore

/// Moves what is stored from one kind of store to the other, when a start asks for another than there is (Behaviour Q1).
///
/// The new store is made beside the old one. Two files, of no bytes, say how far it has come: while `moving-to-log` is there, the
/// new store counts for nothing; once `moved-to-log` is there, the old one does. Both are synced before anything relies on them, so
/// that a kill or a power failure at any point leaves one store that counts. Where there is no room for both, or the disk fails, the
/// old one stays.
struct StoreMove {
    let options: StoreOptions
    let directory: DataDirectory

    private var disk: any Disk { options.disk }

    func run() throws(StoreFault) -> OpenedStore {
        try StoreMove.fault("cannot tidy \(directory.path)") { () throws(DiskFault) in try finishInterrupted() }
        let there = try StoreMove.fault("cannot look into \(directory.path)") { () throws(DiskFault) in try kinds() }
        guard let old = there.first(where: { $0 != options.kind }) else {
            return try options.open(options.kind, in: directory)
        }
        guard there.count > 1 else { return try move(try options.open(old, in: directory)) }
        return try openBeside(old)
    }

    /// Somebody else has put a second store there, and neither says that it was made of the other: that which is asked for is used, and
    /// the other is kept for people to look into.
    private func openBeside(_ old: StoreKind) throws(StoreFault) -> OpenedStore {
        let name = try setAside(old)
        var opened = try options.open(options.kind, in: directory)
        opened.state.warnings.append(
            "there were two event stores in \(directory.path), of which the \(old.rawValue) one is set aside as \(name); "
                + "what it holds is not sent")
        return opened
    }

    private func setAside(_ kind: StoreKind) throws(StoreFault) -> String {
        switch kind {
        case .log: try directory.setAside(options.logDirectory, as: "unused", at: options.wall())
        case .sqlite: try directory.setDatabaseAside(as: "unused", at: options.wall())
        }
    }

    // MARK: What there is

    private func kinds() throws(DiskFault) -> [StoreKind] {
        var kinds: [StoreKind] = []
        for kind in StoreKind.allCases where try !files(of: kind).isEmpty { kinds.append(kind) }
        return kinds
    }

    /// The files of a kind of store.
    private func files(of kind: StoreKind) throws(DiskFault) -> [String] {
        switch kind {
        case .sqlite:
            directory.databasePaths.filter(disk.exists)
        case .log:
            try logNames().filter { $0.hasSuffix(".log") }.map { options.logDirectory + "/" + $0 }
        }
    }

    private func logNames() throws(DiskFault) -> [String] {
        do throws(DiskFault) { return try disk.list(options.logDirectory) } catch {
            guard error.code == ENOENT else { throw error }
            return []
        }
    }

    private func remove(_ kind: StoreKind) throws(DiskFault) {
        let paths = try files(of: kind)
        guard !paths.isEmpty else { return }
        for path in paths { try disk.remove(path) }
        try disk.syncDirectory(kind == .log ? options.logDirectory : directory.path)
    }

    // MARK: How far it has come

    private enum Stage: String {
        case moving, moved
    }

    private func path(_ stage: Stage, to kind: StoreKind) -> String {
        directory.path + "/" + stage.rawValue + "-to-" + kind.rawValue
    }

    private func note(_ stage: Stage, to kind: StoreKind) throws(DiskFault) {
        _ = try disk.open(path(stage, to: kind), creating: true)
        try disk.syncDirectory(directory.path)
    }

    private func forget(_ stage: Stage, to kind: StoreKind) throws(DiskFault) {
        guard disk.exists(path(stage, to: kind)) else { return }
        try disk.remove(path(stage, to: kind))
        try disk.syncDirectory(directory.path)
    }

    /// Brings a move to its end that was interrupted, or takes it back.
    private func finishInterrupted() throws(DiskFault) {
        for kind in StoreKind.allCases {
            if disk.exists(path(.moved, to: kind)) {
                try forget(.moving, to: kind)
                for other in StoreKind.allCases where other != kind { try remove(other) }
                try forget(.moved, to: kind)
            } else if disk.exists(path(.moving, to: kind)) {
                try takeBack(to: kind)
            }
        }
    }

    private func takeBack(to kind: StoreKind) throws(DiskFault) {
        try remove(kind)
        try forget(.moving, to: kind)
    }

    // MARK: Moving

    /// - Returns: the new store, or the old one with a warning where that is not to be had.
    private func move(_ old: OpenedStore) throws(StoreFault) -> OpenedStore {
        let leftBehind: Int
        do throws(StoreFault) {
            leftBehind = try copy(old)
            try StoreMove.fault("cannot note what is done") { () throws(DiskFault) in
                try note(.moved, to: options.kind)
            }
        } catch {
            // Where it may be said that all is moved there is no way back; the next start goes on.
            if disk.exists(path(.moved, to: options.kind)) { throw error }
            return stay(with: old, error)
        }
        // From here on the new store is the one that counts, whatever fails.
        old.engine.finish()
        try StoreMove.fault("cannot remove what was moved") { () throws(DiskFault) in try finishInterrupted() }
        var new = try options.open(options.kind, in: directory)
        new.leftBehind = leftBehind
        new.state.warnings = old.state.warnings + new.state.warnings
        new.state.notes = old.state.notes + new.state.notes
        if leftBehind > 0 {
            new.state.warnings.append("\(leftBehind) events were damaged and are lost, as the store was moved")
        }
        return new
    }

    private func stay(with old: OpenedStore, _ fault: StoreFault) -> OpenedStore {
        try? takeBack(to: options.kind)
        var old = old
        old.state.warnings.append(
            "the event store stays \(old.kind.rawValue): what it holds could not be moved (\(fault.message))")
        return old
    }

    /// Makes the new store, and sees to it that it is on the disk.
    /// - Returns: how many events were damaged.
    private func copy(_ old: OpenedStore) throws(StoreFault) -> Int {
        try StoreMove.fault("cannot note what is begun") { () throws(DiskFault) in
            try note(.moving, to: self.options.kind)
        }
        var options = options
        // All is synced at the end.
        options.durability = .normal
        let letters = LetterReading(old.engine)
        let new = try options.open(options.kind, in: directory, Founding(old.state, newestLetter: letters.newest))
        try letters.forEachPage { (page) throws(StoreFault) in try new.engine.takeOver(page) }
        try copyEvents(old, to: new.engine)
        try new.engine.makeCertain()
        new.engine.finish()
        return old.engine.takeQuarantined()
    }

    private func copyEvents(_ old: OpenedStore, to engine: any StoreEngine) throws(StoreFault) {
        let need = EventNeed(old.state)
        var progress = MoveProgress(from: old.kind, to: options.kind, need.first, old.state.lastSequenceNumber)
        var place = need.first - 1
        while let chunk = try old.engine.read(after: place).get() {
            if let group = need.group(chunk, behind: place) {
                _ = try engine.commit([.append(group)]).get()
                progress.events += group.tallies.total.events
            }
            place = chunk.lastSequenceNumber
            progress.place = place
            options.onMove(progress)
        }
    }

    private static func fault<Result>(
        _ what: String, _ work: () throws(DiskFault) -> Result
    ) throws(StoreFault) -> Result {
        do throws(DiskFault) { return try work() } catch { throw error.storeFault(what) }
    }
}

/// How far a move of what is stored has come.
package struct MoveProgress: Sendable {
    package var from: StoreKind
    package var to: StoreKind
    /// Events that are moved.
    package var events = 0
    fileprivate var place: SequenceNumber
    private let first: SequenceNumber
    private let last: SequenceNumber

    fileprivate init(from: StoreKind, to: StoreKind, _ first: SequenceNumber, _ last: SequenceNumber) {
        (self.from, self.to, self.first, self.last, place) = (from, to, first, last, first)
    }

    /// From 0 to 1.
    package var share: Double {
        last > first ? Double(place - first) / Double(last - first) : 1
    }
}

/// Which events of a store somebody still needs.
private struct EventNeed {
    private let dispatchers: [DispatcherNumber: Settled]
    private let routes: [RouteNumber: [DispatcherNumber]]
    /// Nobody needs those before.
    let first: SequenceNumber

    init(_ state: StoredState) {
        dispatchers = Dictionary(state.dispatchers.map { ($0.number, $0.settled) }) { $1 }
        routes = state.routes
        first = (state.dispatchers.map(\.position).min() ?? state.lastSequenceNumber) + 1
    }

    /// What is needed of a chunk; nil where nothing is.
    func group(_ chunk: Chunk, behind place: SequenceNumber) -> AppendGroup? {
        var (records, tallies): ([UInt8], RouteTallies) = ([], [:])
        var last: SequenceNumber?
        for event in chunk where event.sequenceNumber > place && isNeeded(event) {
            records += event.record
            tallies.add(event)
            last = event.sequenceNumber
        }
        guard let last else { return nil }
        let needed = Chunk(bytes: records, lastSequenceNumber: last)
        return AppendGroup(chunk: needed, tallies: tallies, ages: GroupAges(needed), newRoutes: [:], recentIDs: nil)
    }

    private func isNeeded(_ event: StoredEvent) -> Bool {
        guard let dispatchers = routes[event.route] else { return false }
        return dispatchers.contains { self.dispatchers[$0]?.contains(event.sequenceNumber) == false }
    }
}

/// The dead letters of a store, page by page.
private struct LetterReading {
    private let engine: any StoreEngine
    private let first: Result<LetterPage, StoreFault>

    init(_ engine: any StoreEngine) {
        self.engine = engine
        first = engine.readLetters(LetterReading.query)
    }

    private static var query: LetterQuery { LetterQuery(limit: 1_000) }

    /// The highest number that was ever given.
    var newest: LetterNumber { (try? first.get().newest) ?? 0 }

    func forEachPage(_ body: ([StoredLetter]) throws(StoreFault) -> Void) throws(StoreFault) {
        var page = try first.get()
        while true {
            if !page.letters.isEmpty { try body(page.letters) }
            guard let next = page.next else { return }
            var query = LetterReading.query
            query.after = next
            page = try engine.readLetters(query).get()
        }
    }
}

extension Founding {
    fileprivate init(_ state: StoredState, newestLetter: LetterNumber) {
        self.init(
            dispatchers: state.dispatchers, routes: state.routes, kept: state.kept, recentIDs: state.recentIDs,
            lastSequenceNumber: state.lastSequenceNumber, newestStamp: state.newestStamp, newestLetter: newestLetter)
    }
}
