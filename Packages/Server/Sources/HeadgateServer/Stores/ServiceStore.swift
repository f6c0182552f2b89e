import HeadgateCore
import HeadgateTransport

/// The event store that the settings ask for.
struct ServiceStore {
    let store: any EventStore

    init(settings: Settings, places: Places, worker: LoopWorker) {
        if settings.durability == .memory {
            store = MemoryEventStore(worker: worker)
        } else {
            let options = SQLiteEventStore.Options(
                directory: places.dataDirectory, durability: settings.durability)
            store = SQLiteEventStore(options: options) { [loop = worker.loop] in loop.submit($0) }
        }
    }

    /// Called with the number of events that were found damaged (Behaviour Q8).
    var onQuarantine: (Int) -> Void {
        get { (store as? SQLiteEventStore)?.onQuarantine ?? { _ in } }
        nonmutating set { (store as? SQLiteEventStore)?.onQuarantine = newValue }
    }

    func open() throws(StartFault) -> StoredState {
        do throws(StoreFault) {
            return try store.open()
        } catch {
            throw StartFault(error.message)
        }
    }
}
