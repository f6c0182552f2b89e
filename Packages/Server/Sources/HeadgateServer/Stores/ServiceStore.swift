import HeadgateCore
import HeadgateTransport

/// The program's own event store, or the one that the settings ask for.
final class ServiceStore {
    let store: any EventStore
    private let directoryPath: String?
    /// The data directory, where the store does not hold it itself: it is one daemon's alone in any case (Behaviour Q9).
    private var directory: DataDirectory?

    /// - Parameter loop: to which a store on disk answers; without one the store is in memory, and no directory is touched.
    init(
        _ makeStore: ((any Scheduler) -> any EventStore)?, settings: Settings, places: Places,
        scheduler: any Scheduler, loop: EventLoop?, log: Log
    ) {
        directoryPath = loop == nil ? nil : places.dataDirectory
        if let makeStore {
            store = makeStore(scheduler)
        } else if let loop, settings.durability != .memory {
            var options = SQLiteEventStore.Options(
                directory: places.dataDirectory, durability: settings.durability)
            options.mostRecentIDs = settings.store.dedupeIDs
            let own = SQLiteEventStore(options: options) { loop.submit($0) }
            // They are counted by each dispatcher that misses them.
            own.onQuarantine = { log.error("the store is damaged: \($0) events are quarantined") }
            store = own
        } else {
            store = MemoryEventStore(scheduler: scheduler)
        }
    }

    func open() throws(StartFault) -> StoredState {
        do throws(StoreFault) {
            if let directoryPath, !(store is SQLiteEventStore) { directory = try DataDirectory(directoryPath) }
            return try store.open()
        } catch {
            throw StartFault(error.message)
        }
    }
}
