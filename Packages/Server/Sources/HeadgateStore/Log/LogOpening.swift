import HeadgateCore

/// An open log.
struct OpenedStore {
    var engine: LogEngine
    var state: StoredState
}

/// The opening of the log of a data directory, which is created if it is missing. A log that cannot be read is set
/// aside, and the start continues with a fresh one (Behaviour Q8).
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
        do throws(RecoveryFault) {
            return try open(recovery.run(), [])
        } catch {
            switch error {
            case .disk(let fault): throw fault.storeFault("cannot open the log in \(options.logDirectory)")
            case .foreign(let message): throw .newerVersion(message)
            case .locked(let message): throw .locked(message)
            case .damaged(let reason): return try startAfresh(reason)
            case .gone: throw .failed("the log in \(options.logDirectory) was removed")
            }
        }
    }

    private func makeDirectory() throws(StoreFault) {
        do throws(DiskFault) {
            try options.disk.makeDirectory(options.logDirectory)
            try options.disk.syncDirectory(options.directory)
        } catch {
            throw error.storeFault("cannot create the directory \(options.logDirectory)")
        }
    }

    private func startAfresh(_ reason: String) throws(StoreFault) -> OpenedStore {
        let name = try directory.setAside(options.logDirectory, at: options.wall())
        try makeDirectory()
        var recovery = LogRecovery(options)
        do throws(RecoveryFault) {
            let recovered = try recovery.run(numbersBehind: options.numberAhead)
            return try open(recovered, ["the event store was damaged (\(reason)) and was renamed to \(name)"])
        } catch {
            throw .failed("\(options.logDirectory): \(error)")
        }
    }

    private func open(
        _ recovered: LogRecovery.Outcome, _ warnings: [String]
    ) throws(RecoveryFault) -> OpenedStore {
        var state = StoredState()
        state.dispatchers = dispatchers(recovered.state)
        state.routes = recovered.state.routes
        state.lastSequenceNumber = recovered.state.lastSequenceNumber
        state.newestStamp = recovered.state.newestStamp
        state.kept = recovered.state.kept
        state.warnings = warnings + recovered.warnings
        state.notes = recovered.notes
        state.quarantined = recovered.quarantined
        state.unsettled = try unsettled(recovered, of: state.dispatchers)
        state.recentIDs = try recentIDs(recovered)
        state.deadLetterTally = recovered.state.deadLetters.tally
        state.isErasing = recovered.state.erased != nil
        return OpenedStore(engine: LogEngine(recovered, directory: directory, options: options), state: state)
    }

    // MARK: The backlog

    /// Returns the dispatchers. An event that no dispatcher needs counts as settled by all of them, because its segment
    /// may be gone.
    private func dispatchers(_ state: LogState) -> [StoredDispatcher] {
        state.dispatchers.values.sorted { $0.number < $1.number }.map { dispatcher in
            var dispatcher = dispatcher
            dispatcher.settled = state.settled(of: dispatcher)
            return dispatcher
        }
    }

    /// Counts the unsettled events of each dispatcher from the indexes. Few blocks have to be read.
    private func unsettled(
        _ recovered: LogRecovery.Outcome, of dispatchers: [StoredDispatcher]
    ) throws(RecoveryFault) -> [DispatcherNumber: RouteTallies] {
        let sealed = recovered.state.segments.compactMap { recovered.sealed[$0.number] }
        return try RecoveryFault.of { () throws(DiskFault) in
            try BacklogCount.unsettled(
                of: dispatchers, recovered.state.routes, in: sealed + [recovered.active.segment],
                without: recovered.state.erased ?? [])
        }
    }

    /// Returns the newest ids, as many as are remembered.
    private func recentIDs(_ recovered: LogRecovery.Outcome) throws(RecoveryFault) -> [RecentIDs] {
        let ids = recovered.state.ids
        var groups = ids.recent
        var count = groups.reduce(0) { $0 + $1.count }
        for filed in ids.files.reversed() where count < options.mostRecentIDs && filed.last > ids.forgottenThrough {
            let segment = LogSegment(filed.segment, filed.file, in: recovered.files)
            let content = try RecoveryFault.of { () throws(DiskFault) in try segment.content(at: LogHeader.size) }
            // Damaged ids are not remembered: an event that is sent again may then be stored twice, and nothing is
            // lost.
            guard let content else { continue }
            let older = content.withUnsafeBytes { (try? LogIDs.read($0)) ?? [] }
            count += older.reduce(0) { $0 + $1.count }
            groups = older + groups
        }
        return groups.filter { $0.lastSequenceNumber > ids.forgottenThrough }
    }
}

extension StoreOptions {
    /// Opens the store of a data directory, and creates one if there is none.
    func open() throws(StoreFault) -> OpenedStore { try LogOpening(self).run() }

    /// Microseconds since 1970: a number that no damaged store has reached. If another event got the number of an
    /// earlier one, a destination could take it for a duplicate (Behaviour K1, `Idempotency-Key`).
    fileprivate var numberAhead: SequenceNumber {
        max(0, SequenceNumber(wall().milliseconds) * 1_000)
    }
}
