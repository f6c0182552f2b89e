import HeadgateCore
import HeadgateData
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
            var options = DiskEventStore.Options(
                directory: places.dataDirectory, durability: settings.durability)
            options.mostRecentIDs = settings.store.dedupeIDs
            options.kind = settings.storeKind
            let telling = MoveTelling(log: log.output)
            options.onMove = { telling.note($0) }
            let own = DiskEventStore(options: options, loop: loop)
            // They are counted by each dispatcher that misses them.
            own.onRenewal = { lost in
                log.tell(
                    .storeRenewed,
                    ["directory": .string(places.dataDirectory), "events": .number(DataNumber(lost))])
            }
            own.onQuarantine = { log.tell(.storeDamaged, ["count": .number(DataNumber($0))]) }
            store = own
        } else {
            store = MemoryEventStore(scheduler: scheduler)
        }
    }

    func open() throws(StartFault) -> StoredState {
        do throws(StoreFault) {
            if let directoryPath, !(store is DiskEventStore) { directory = try DataDirectory(directoryPath) }
            return try store.open()
        } catch {
            throw StartFault(error.message)
        }
    }
}

extension DataDirectory {
    /// Returns true if the daemon itself uses a name in its data directory, so that no dispatcher may write there.
    static func isReserved(_ name: String) -> Bool {
        owns(name) || [PersistedSettings.name, RemoteSettingsCopy.name].contains { name.hasPrefix($0) }
    }
}

/// Tells people how far a move from one kind of store to the other has come: a start may take its time over it.
///
/// `@unchecked`: it belongs to the store's thread.
private final class MoveTelling: @unchecked Sendable {
    private let log: LogOutput
    private var nextShare = MoveTelling.step

    /// A line for each tenth.
    private static let step = 0.1

    init(log: LogOutput) {
        self.log = log
    }

    func note(_ progress: MoveProgress) {
        guard progress.share >= nextShare else { return }
        nextShare = (progress.share / MoveTelling.step).rounded(.down) * MoveTelling.step + MoveTelling.step
        log.write(
            LogLine(
                .storeMoving,
                [
                    "from": .string(progress.from.rawValue), "to": .string(progress.to.rawValue),
                    "percent": .number(DataNumber(Int(progress.share * 100))),
                    "count": .number(DataNumber(progress.events)),
                ]))
    }
}
