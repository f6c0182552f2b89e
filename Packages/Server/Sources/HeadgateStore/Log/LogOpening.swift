import HeadgateCore

/// A log that has been opened.
struct OpenedStore {
    var engine: LogEngine
    var state: StoredState
}

/// The opening of the log of a data directory, which makes it if there is none. A log that cannot be read is set aside, and the
/// start goes on with a fresh one (Behaviour Q8).
struct LogOpening {
    let options: StoreOptions
    let directory: DataDirectory

    init(_ options: StoreOptions) throws(StoreFault) {
        self.options = options
        directory = try DataDirectory(options.directory, on: options.disk)
    }

    func run() throws(StoreFault) -> OpenedStore {
        try makeDirectory()
        var recovery = LogRecovery(options)
        do throws(LogRecovery.Fault) {
            return try open(recovery.run(), [])
        } catch {
            switch error {
            case .disk(let fault): throw fault.storeFault("cannot read the log in \(options.logDirectory)")
            case .foreign(let message): throw .newerVersion(message)
            case .damaged(let reason): return try startAfresh(reason)
            case .gone: throw .failed("the log in \(options.logDirectory) was taken away")
            }
        }
    }

    private func makeDirectory() throws(StoreFault) {
        do throws(DiskFault) {
            try options.disk.makeDirectory(options.logDirectory)
            try options.disk.syncDirectory(options.directory)
        } catch {
            throw error.storeFault("cannot make the directory \(options.logDirectory)")
        }
    }

    private func startAfresh(_ reason: String) throws(StoreFault) -> OpenedStore {
        let name = try directory.setAside(options.logDirectory, at: options.wall())
        try makeDirectory()
        var recovery = LogRecovery(options)
        do throws(LogRecovery.Fault) {
            let recovered = try recovery.run(numbersBehind: options.numberAhead)
            return try open(recovered, ["the event store was damaged (\(reason)) and is set aside as \(name)"])
        } catch {
            throw .failed("\(options.logDirectory): \(error)")
        }
    }

    private func open(
        _ recovered: LogRecovery.Outcome, _ warnings: [String]
    ) throws(LogRecovery.Fault) -> OpenedStore {
        var state = StoredState()
        state.dispatchers = dispatchers(recovered.state)
        state.routes = recovered.state.routes
        state.lastSequenceNumber = recovered.state.lastSequenceNumber
        state.newestStamp = recovered.state.newestStamp
        state.kept = recovered.state.kept
        state.warnings = warnings + recovered.warnings
        state.notes = recovered.notes
        state.unsettled = try unsettled(recovered, of: state.dispatchers)
        state.recentIDs = try recentIDs(recovered)
        state.letters = recovered.state.letters.tally
        return OpenedStore(engine: LogEngine(recovered, directory: directory, options: options), state: state)
    }

    // MARK: What waits

    /// What nobody needs may still be there, or not: it counts as settled by all, whoever has not said so.
    private func dispatchers(_ state: LogState) -> [StoredDispatcher] {
        state.dispatchers.values.sorted { $0.number < $1.number }.map { dispatcher in
            var dispatcher = dispatcher
            dispatcher.settled = state.settled(of: dispatcher)
            return dispatcher
        }
    }

    /// Counts what each dispatcher has not settled from what the blocks say they hold; few need to be looked into.
    private func unsettled(
        _ recovered: LogRecovery.Outcome, of dispatchers: [StoredDispatcher]
    ) throws(LogRecovery.Fault) -> [DispatcherNumber: RouteTallies] {
        let sealed = recovered.state.segments.compactMap { recovered.sealed[$0.number] }
        return try LogRecovery.Fault.of { () throws(DiskFault) in
            try BacklogCount.unsettled(of: dispatchers, recovered.state.routes, in: sealed + [recovered.front.segment])
        }
    }

    /// The newest ids, as many as are remembered.
    private func recentIDs(_ recovered: LogRecovery.Outcome) throws(LogRecovery.Fault) -> [RecentIDs] {
        let ids = recovered.state.ids
        var groups = ids.recent
        var count = groups.reduce(0) { $0 + $1.count }
        for filed in ids.files.reversed() where count < options.mostRecentIDs && filed.last > ids.forgottenThrough {
            let segment = LogSegment(
                number: filed.segment, file: filed.file, files: recovered.files, index: LogIndex(blockSize: 0))
            let frame = try LogRecovery.Fault.of { () throws(DiskFault) in try segment.frame(at: LogHeader.size) }
            // What is damaged is not remembered: an id that comes again may be stored twice, and nothing is lost.
            guard let frame else { continue }
            let older = frame.content.withUnsafeBytes { (try? LogIDs.read($0)) ?? [] }
            count += older.reduce(0) { $0 + $1.count }
            groups = older + groups
        }
        return groups.filter { $0.lastSequenceNumber > ids.forgottenThrough }
    }
}

extension StoreOptions {
    /// Opens the store of a data directory, which makes one if there is none.
    func open() throws(StoreFault) -> OpenedStore { try LogOpening(self).run() }

    /// Microseconds since 1970: a number that no damaged store has come to. Were the same numbers given again to other events, a
    /// destination might take them for those that it has (Behaviour K1, `Idempotency-Key`).
    fileprivate var numberAhead: SequenceNumber {
        max(0, SequenceNumber(wall().milliseconds) * 1_000)
    }
}
