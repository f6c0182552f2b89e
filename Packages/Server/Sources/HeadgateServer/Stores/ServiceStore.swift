import HeadgateCore
import HeadgateData
import HeadgateEncryption
import HeadgateSQLiteStore
import HeadgateTransport

/// The program's own event store, or the one that the settings select.
final class ServiceStore {
    let store: any EventStore
    private let directoryPath: String?
    /// The lock of the data directory, or nil if the store itself locks the directory or does not use it. Only one
    /// daemon may use a data directory (Behaviour Q9).
    private var directory: DataDirectory?
    private let keyring: Keyring?
    /// The kind that the settings select; nil if the store is a program's own or in memory.
    private let kind: StoreKind?

    /// - Parameter loop: the loop on which a store on disk calls back. Without a loop, the store is in memory and uses
    ///   no directory.
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
        // The lost events are not counted here: each dispatcher counts those that it misses.
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

    /// - Returns: a note for the log, or nil if no empty store of another kind was renamed.
    private func prepareDirectory() throws(StoreFault) -> String? {
        guard let directoryPath else { return nil }
        let note = try kind.flatMap { (kind) throws(StoreFault) in
            try StoredKind(directory: directoryPath, keyring: keyring).makeRoom(for: kind)
        }
        // A log locks its directory itself.
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
