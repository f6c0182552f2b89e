/// The dispatchers that the store knows, configured or removed. The queue of a removed dispatcher is kept for the
/// retention time (Behaviour Q3).
final class KnownDispatchers {
    private var all: [String: StoredDispatcher]
    /// The highest number that was assigned. A removed dispatcher's number must not be reused while its deletion may
    /// not be written, because the new dispatcher would take over its dead letters.
    private var newest: DispatcherNumber
    /// The numbers of dispatchers whose deletion may not be written yet. One that is added again keeps its number, so
    /// that the next start finds it only once.
    private(set) var forgotten: [String: DispatcherNumber] = [:]
    /// The replay of each dispatcher's last rewind (Behaviour R2).
    private(set) var replays: [DispatcherNumber: Replay] = [:]
    /// The starts of dispatchers that began at an earlier event (Behaviour R4).
    private(set) var starts: [DispatcherNumber: EarlyStart] = [:]
    private let events: EventQueue
    private let settlements: Settlements
    private let trace: EventTrace

    /// - Parameter kept: the small values of the store, replays among them.
    init(
        _ stored: [StoredDispatcher], kept: [String: [UInt8]] = [:], events: EventQueue, settlements: Settlements,
        trace: EventTrace
    ) {
        for dispatcher in stored {
            let replay = kept[Replay.name(of: dispatcher.number)].flatMap { Replay(kept: $0) }
            replays[dispatcher.number] = replay
            starts[dispatcher.number] = kept[EarlyStart.name(of: dispatcher.number)].flatMap { EarlyStart(kept: $0) }
            // Events that a rewind made pending again do not count against the store's limits.
            if let replay, replay.isLeft(behind: dispatcher.position) {
                let left = replay.last - max(replay.first - 1, dispatcher.position)
                events.backlog.markReplayed(by: dispatcher.number, most: Int(left))
            }
        }
        all = Dictionary(stored.map { ($0.id, $0) }) { first, _ in first }
        newest = stored.map(\.number).max() ?? 0
        self.events = events
        self.settlements = settlements
        self.trace = trace
    }

    subscript(id: String) -> StoredDispatcher? { all[id] }

    var count: Int { all.count }

    /// Returns the id of a dispatcher.
    func id(of number: DispatcherNumber) -> String? {
        all.values.first { $0.number == number }?.id
    }

    /// Returns all dispatchers except those with the given ids.
    func others(than ids: Set<String>) -> [StoredDispatcher] {
        all.values.filter { !ids.contains($0.id) }
    }

    /// Returns a dispatcher that continues at its position. A new one starts at the newest event.
    func adopt(_ id: String) -> StoredDispatcher {
        var stored = all[id] ?? new(id)
        guard all[id] == nil || stored.orphanedSince != nil else { return stored }
        stored.orphanedSince = nil
        events.initialState.add(stored)
        remember(stored)
        return stored
    }

    /// Gives the queue of a removed dispatcher to a dispatcher that has none (Behaviour Q3).
    func rename(_ old: String, to new: String) {
        guard var dispatcher = all[old], all[new] == nil else { return }
        all[old] = nil
        dispatcher.id = new
        dispatcher.orphanedSince = nil
        events.initialState.add(dispatcher)
        remember(dispatcher)
    }

    private func new(_ id: String) -> StoredDispatcher {
        let number = forgotten.removeValue(forKey: id) ?? newest + 1
        newest = max(newest, number)
        // Settlements of an earlier dispatcher with this number that could not be written do not apply to this one.
        settlements.settled(number) { nil }
        return StoredDispatcher(number: number, id: id, settled: Settled(through: events.lastStored))
    }

    /// Records the start of a dispatcher at an earlier event. The store gets it together with the dispatcher.
    func begin(_ start: EarlyStart, of dispatcher: DispatcherNumber) {
        starts[dispatcher] = start
        events.initialState.kept[EarlyStart.name(of: dispatcher)] = start.kept
        settlements.add(.keep(EarlyStart.name(of: dispatcher), start.kept))
    }

    /// Records that a dispatcher has been moved to its start. The store has it already.
    func endStart(of dispatcher: DispatcherNumber) {
        starts[dispatcher]?.isDone = true
        events.initialState.kept[EarlyStart.name(of: dispatcher)] = nil
    }

    /// Records the replay of a dispatcher that was rewound. The store has it already.
    func setReplay(_ replay: Replay, of dispatcher: DispatcherNumber) { replays[dispatcher] = replay }

    /// Records the settlements of a dispatcher that is about to be removed.
    func setSettled(_ settled: Settled, of id: String) {
        all[id]?.settled = settled
    }

    /// Records the present as the time of removal of all dispatchers that are not configured and have none yet.
    func noteOrphans(except configured: Set<String>) {
        for var dispatcher in others(than: configured) where dispatcher.orphanedSince == nil {
            dispatcher.orphanedSince = events.presentStamp()
            events.initialState.note(dispatcher.number, orphanedSince: dispatcher.orphanedSince)
            remember(dispatcher)
        }
    }

    /// Deletes a dispatcher with its queue.
    /// - Returns: the number of unsettled events that were dropped.
    func forget(_ dispatcher: StoredDispatcher) -> Int {
        let count = events.backlog.unsettled(of: dispatcher.number).events
        events.backlog.remove(dispatcher.number)
        events.initialState.forget(dispatcher.number)
        trace.forget(dispatcher.number)
        all[dispatcher.id] = nil
        if replays.removeValue(forKey: dispatcher.number) != nil {
            settlements.add(.keep(Replay.name(of: dispatcher.number), nil))
        }
        if starts.removeValue(forKey: dispatcher.number) != nil {
            events.initialState.kept[EarlyStart.name(of: dispatcher.number)] = nil
            settlements.add(.keep(EarlyStart.name(of: dispatcher.number), nil))
        }
        let unwritten = settlements.unwrittenForgets
        forgotten = forgotten.filter { unwritten.contains($0.value) }
        forgotten[dispatcher.id] = dispatcher.number
        settlements.add(.forgetDispatcher(dispatcher.number))
        return count
    }

    /// Returns the sequence number up to which no dispatcher needs events: the lowest position of all dispatchers with
    /// unsettled events.
    /// - Parameter position: returns the position of a dispatcher that exists; nil for others.
    func trimPoint(_ position: (String) -> SequenceNumber?) -> SequenceNumber {
        let positions = all.values.compactMap { dispatcher in
            events.backlog.unsettled(of: dispatcher.number).events == 0
                ? nil : position(dispatcher.id) ?? dispatcher.position
        }
        return positions.min() ?? events.lastStored
    }

    private func remember(_ dispatcher: StoredDispatcher) {
        all[dispatcher.id] = dispatcher
        settlements.add(.dispatcher(dispatcher))
    }
}
