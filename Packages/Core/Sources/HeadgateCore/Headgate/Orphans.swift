import HeadgateData

/// The queue of a dispatcher that is configured no more (Behaviour Q3).
public struct OrphanSummary: Sendable, Equatable {
    /// The dispatcher's id.
    public var id: String
    /// Events in the queue.
    public var events: Int
    /// The age of the oldest of them; nil while that is being read.
    public var oldest: Duration?
    /// The time at which the queue is dropped.
    public var until: Timestamp
}

/// Knows the oldest event in each queue without a dispatcher. Such a queue is not buffered, so that the store is read
/// once.
final class OrphanAges {
    /// The receipt of the oldest event, on the age scale in milliseconds; nil while it is being read, or cannot be.
    private var stamps: [DispatcherNumber: Int64?] = [:]

    /// So many reads at most look for the first event of a queue behind those of others.
    private static let mostReads = 16

    /// Notes the oldest event of a dispatcher that is being removed, if the dispatcher has it buffered.
    func note(_ stamp: Int64?, of dispatcher: DispatcherNumber) {
        stamps[dispatcher] = nil
        if let stamp { stamps[dispatcher] = .some(stamp) }
    }

    /// Forgets all: who has which queue has changed.
    func forget() {
        stamps = [:]
    }

    /// The receipt of a queue's oldest event; nil while it is not known. Begins to read it when it is first asked for.
    func stamp(of orphan: StoredDispatcher, in events: EventQueue) -> Int64? {
        if let known = stamps[orphan.number] { return known }
        stamps[orphan.number] = .some(nil)
        read(orphan, behind: orphan.position, in: events, reads: OrphanAges.mostReads)
        return nil
    }

    private func read(_ orphan: StoredDispatcher, behind place: SequenceNumber, in events: EventQueue, reads: Int) {
        events.store.read(after: place) { [weak self, weak events] result in
            guard let self, let events, case .success(let chunk?) = result else { return }
            if let first = chunk.first(where: { OrphanAges.isFor(orphan, $0, events) }) {
                stamps[orphan.number] = .some(first.receivedStamp)
                return
            }
            guard reads > 1, chunk.lastSequenceNumber > place else { return }
            read(orphan, behind: chunk.lastSequenceNumber, in: events, reads: reads - 1)
        }
    }

    private static func isFor(_ orphan: StoredDispatcher, _ event: StoredEvent, _ events: EventQueue) -> Bool {
        events.routes.dispatchers(of: event.route).contains(orphan.number)
            && !orphan.settled.contains(event.sequenceNumber)
    }
}
