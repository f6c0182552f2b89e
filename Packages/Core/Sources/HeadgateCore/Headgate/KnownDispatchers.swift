/// Every dispatcher that the store knows, configured or not. The queue of one that is not is kept for a while (Behaviour Q3).
final class KnownDispatchers {
    private var all: [String: StoredDispatcher]
    /// The highest number that was given. While it may not be written down that a dispatcher is given up, its number must not be
    /// another's, who would take over its dead letters.
    private var newest: DispatcherNumber
    /// The numbers of those that were given up, as long as that may not be written down: then the next start finds such a
    /// dispatcher under its old number, and nobody under another.
    private(set) var forgotten: [String: DispatcherNumber] = [:]
    private let events: EventQueue
    private let settlements: Settlements
    private let trace: EventTrace

    init(_ stored: [StoredDispatcher], events: EventQueue, settlements: Settlements, trace: EventTrace) {
        all = Dictionary(stored.map { ($0.id, $0) }) { first, _ in first }
        newest = stored.map(\.number).max() ?? 0
        self.events = events
        self.settlements = settlements
        self.trace = trace
    }

    subscript(id: String) -> StoredDispatcher? { all[id] }

    var count: Int { all.count }

    /// The id of a dispatcher.
    func id(of number: DispatcherNumber) -> String? {
        all.values.first { $0.number == number }?.id
    }

    /// All but some.
    func others(than ids: Set<String>) -> [StoredDispatcher] {
        all.values.filter { !ids.contains($0.id) }
    }

    /// Takes up a dispatcher where it was. One that is new starts at the newest event.
    func adopt(_ id: String) -> StoredDispatcher {
        var stored = all[id] ?? new(id)
        guard all[id] == nil || stored.orphanedSince != nil else { return stored }
        stored.orphanedSince = nil
        events.groundwork.add(stored)
        remember(stored)
        return stored
    }

    /// Gives the queue of a dispatcher that is configured no more to another that has none (Behaviour Q3).
    func rename(_ old: String, to new: String) {
        guard var dispatcher = all[old], all[new] == nil else { return }
        all[old] = nil
        dispatcher.id = new
        dispatcher.orphanedSince = nil
        events.groundwork.add(dispatcher)
        remember(dispatcher)
    }

    private func new(_ id: String) -> StoredDispatcher {
        let number = forgotten.removeValue(forKey: id) ?? newest + 1
        newest = max(newest, number)
        // What the one before it had settled, and could not be written, is not this one's.
        settlements.settled(number) { nil }
        return StoredDispatcher(number: number, id: id, settled: Settled(through: events.lastStored))
    }

    /// So much has been settled by one that is about to be gone.
    func setSettled(_ settled: Settled, of id: String) {
        all[id]?.settled = settled
    }

    /// Notes since when those are not configured any more that are none of these.
    func noteOrphans(except configured: Set<String>) {
        for var dispatcher in others(than: configured) where dispatcher.orphanedSince == nil {
            dispatcher.orphanedSince = events.presentStamp()
            events.groundwork.note(dispatcher.number, orphanedSince: dispatcher.orphanedSince)
            remember(dispatcher)
        }
    }

    /// Gives up what waits for a dispatcher.
    /// - Returns: how many events that was.
    func forget(_ dispatcher: StoredDispatcher) -> Int {
        let count = events.backlog.unsettled(of: dispatcher.number).events
        events.backlog.remove(dispatcher.number)
        events.groundwork.forget(dispatcher.number)
        trace.forget(dispatcher.number)
        all[dispatcher.id] = nil
        let unwritten = settlements.unwrittenForgets
        forgotten = forgotten.filter { unwritten.contains($0.value) }
        forgotten[dispatcher.id] = dispatcher.number
        settlements.add(.forgetDispatcher(dispatcher.number))
        return count
    }

    /// Up to which event nobody needs anything: where the dispatcher stands that is farthest behind.
    /// - Parameter position: where one stands that is there; nil for others.
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
