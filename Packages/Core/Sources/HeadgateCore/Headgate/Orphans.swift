import HeadgateData

/// The queue of a removed dispatcher (Behaviour Q3).
public struct OrphanSummary: Sendable, Equatable {
    /// The dispatcher's id.
    public var id: String
    /// The number of unsettled events.
    public var events: Int
    /// The age of the oldest event; nil while it is being read.
    public var oldest: Duration?
    /// The time at which the queue is dropped.
    public var until: Timestamp
}

/// The age of the oldest event in the queue of each removed dispatcher. Such a queue is not buffered, so the event is
/// read from the store once and remembered.
final class OrphanAges {
    /// The time of receipt of the oldest event, on the age scale in milliseconds; nil while it is being read, or if it
    /// cannot be read.
    private var stamps: [DispatcherNumber: Int64?] = [:]

    /// The most reads for one queue, whose first event may come after other dispatchers' events.
    private static let mostReads = 16

    /// Records the oldest event of a dispatcher that is being removed; nil if it is not buffered.
    func note(_ stamp: Int64?, of dispatcher: DispatcherNumber) {
        stamps[dispatcher] = nil
        if let stamp { stamps[dispatcher] = .some(stamp) }
    }

    /// Forgets everything, after a queue was taken over.
    func forget() {
        stamps = [:]
    }

    /// Returns the time of receipt of a queue's oldest event, or nil while it is unknown. The first call begins to read
    /// it.
    func stamp(of orphan: StoredDispatcher, in events: EventQueue) -> Int64? {
        if let known = stamps[orphan.number] { return known }
        stamps[orphan.number] = .some(nil)
        read(orphan, behind: orphan.position, in: events, reads: OrphanAges.mostReads)
        return nil
    }

    private func read(_ orphan: StoredDispatcher, behind position: SequenceNumber, in events: EventQueue, reads: Int) {
        events.store.read(after: position) { [weak self, weak events] result in
            guard let self, let events, case .success(let chunk?) = result else { return }
            if let first = chunk.first(where: { OrphanAges.isFor(orphan, $0, events) }) {
                stamps[orphan.number] = .some(first.receivedStamp)
                return
            }
            guard reads > 1, chunk.lastSequenceNumber > position else { return }
            read(orphan, behind: chunk.lastSequenceNumber, in: events, reads: reads - 1)
        }
    }

    private static func isFor(_ orphan: StoredDispatcher, _ event: StoredEvent, _ events: EventQueue) -> Bool {
        events.routes.dispatchers(of: event.route).contains(orphan.number)
            && !orphan.settled.contains(event.sequenceNumber)
    }
}
