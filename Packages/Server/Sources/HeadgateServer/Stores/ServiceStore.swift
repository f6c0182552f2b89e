import HeadgateCore
import HeadgateData
import HeadgateSQLiteStore
import HeadgateTransport

/// The program's own event store, or the one that the settings select.
final class ServiceStore {
    let store: any EventStore
    private let directoryPath: String?
    /// The data directory, where the store does not hold it itself: it is one daemon's alone in any case (Behaviour Q9).
    private var directory: DataDirectory?
    private let keyring: Keyring?
    /// The kind that the settings ask for; nil if the store is a program's own or in memory.
    private let kind: StoreKind?

    /// - Parameter loop: the loop to which a store on disk answers. Without a loop the store is in memory, and no directory is touched.
    init(
        _ makeStore: ((any Scheduler) -> any EventStore)?, settings: Settings, paths: DaemonPaths,
        scheduler: any Scheduler, loop: EventLoop?, log: Log, keyring: Keyring?
    ) {
        (directoryPath, self.keyring) = (loop == nil ? nil : paths.dataDirectory, keyring)
        if let makeStore {
            (store, kind) = (makeStore(scheduler), nil)
        } else if let loop, settings.durability != .memory {
            kind = settings.storeKind
            store =
                switch settings.storeKind {
                case .log: ServiceStore.log(settings, paths, loop, log, keyring)
                case .sqlite: ServiceStore.database(settings, paths, loop, log)
                }
        } else {
            (store, kind) = (MemoryEventStore(scheduler: scheduler), nil)
        }
    }

    private static func log(
        _ settings: Settings, _ paths: DaemonPaths, _ loop: EventLoop, _ log: Log, _ keyring: Keyring?
    ) -> DiskEventStore {
        var options = DiskEventStore.Options(directory: paths.dataDirectory, durability: settings.durability)
        options.keyring = keyring
        options.mostRecentIDs = settings.store.dedupeIDs
        let store = DiskEventStore(options: options, loop: loop)
        // Each dispatcher that misses the lost events counts them.
        store.onRenewal = { lost in
            log.write(
                .storeRenewed, ["directory": .string(paths.dataDirectory), "events": .number(DataNumber(lost))])
        }
        store.onQuarantine = { log.write(.storeDamaged, ["count": .number(DataNumber($0))]) }
        return store
    }

    private static func database(
        _ settings: Settings, _ paths: DaemonPaths, _ loop: EventLoop, _ log: Log
    ) -> SQLiteEventStore {
        var options = SQLiteEventStore.Options(
            path: StoredKind.database(in: paths.dataDirectory), isSynced: settings.durability == .full)
        options.mostRecentIDs = settings.store.dedupeIDs
        options.wall = { Timestamp.ofSystem.milliseconds }
        let store = SQLiteEventStore(options: options) { loop.submit($0) }
        store.onQuarantine = { log.write(.storeDamaged, ["count": .number(DataNumber($0))]) }
        return store
    }

    func open() throws(StartFault) -> StoredState {
        do throws(StoreFault) {
            let note = try prepareDirectory()
            var state = try store.open()
            if let note { state.notes.append(note) }
            return state
        } catch {
            throw StartFault(error.message)
        }
    }

    /// - Returns: a note for people, if an empty store of another kind was set aside.
    private func prepareDirectory() throws(StoreFault) -> String? {
        guard let directoryPath else { return nil }
        let note = try kind.flatMap { (kind) throws(StoreFault) in
            try StoredKind(directory: directoryPath, keyring: keyring).makeRoom(for: kind)
        }
        // The log holds its directory itself.
        if !(store is DiskEventStore) { directory = try DataDirectory(directoryPath) }
        return note
    }
}

extension DataDirectory {
    /// Returns true if the daemon itself uses a name in its data directory, so that no dispatcher may write there.
    static func isReserved(_ name: String) -> Bool {
        owns(name) || [PersistedSettings.name, RemoteSettingsCopy.name].contains { name.hasPrefix($0) }
    }
}
