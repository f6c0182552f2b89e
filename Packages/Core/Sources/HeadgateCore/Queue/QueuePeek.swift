/// An operation that reads the next events of a dispatcher's queue without taking them (Protocol, `queue.peek`). It
/// reads through a copy of the dispatcher's queue, one chunk per turn if they come from the store, and holds no more
/// events than it returns.
final class QueuePeek {
    private let events: EventQueue
    private var queue: DispatcherQueue
    /// The last event to read, so that the operation ends under constant load.
    private let newest: SequenceNumber
    /// The sequence number after which events are returned.
    private let after: SequenceNumber
    private let limit: Int
    /// Returns false once the caller has no use for the page.
    private let isAwaited: () -> Bool
    private let then: (Result<QueuePage, StoreFault>) -> Void
    private var page = QueuePage()
    /// An upper bound of the events after the buffered ones that have not been read.
    private var unread: Int

    init(
        into queue: DispatcherQueue, in events: EventQueue, after: SequenceNumber, limit: Int,
        isAwaited: @escaping () -> Bool, then: @escaping (Result<QueuePage, StoreFault>) -> Void
    ) {
        self.events = events
        self.after = after
        self.limit = limit
        self.isAwaited = isAwaited
        self.then = then
        self.queue = queue
        unread = queue.unread(in: events)
        newest = events.lastStored
    }

    func begin() {
        take()
        if after > queue.readPosition { queue.skip(to: min(after, newest)) }
        readOn()
    }

    private func readOn() {
        while !page.isFull, unread > 0, queue.readPosition < newest {
            if fill() { continue }
            guard queue.readPosition < newest else { break }
            guard let chunk = events.recentChunk(after: queue.readPosition) else { return read() }
            queue.load(chunk)
        }
        // Like all completions, it is called after the function has returned.
        events.scheduler.soon { [then, page] in then(.success(page)) }
    }

    /// Reads the next event of the chunk into the page. Returns false if the chunk has ended.
    private func fill() -> Bool {
        var hasSkipped = false
        let isFilled = queue.fill(1, from: events, &hasSkipped)
        unread -= queue.count
        take()
        return isFilled
    }

    private func read() {
        events.store.read(after: queue.readPosition) { [self] result in
            guard isAwaited() else { return }
            switch result {
            case .success(let chunk?): queue.load(chunk)
            case .success(nil): queue.skip(to: newest)
            case .failure(let fault): return then(.failure(fault))
            }
            readOn()
        }
    }

    /// Adds the pending events of the buffer to the page and empties the buffer.
    private func take() {
        for entry in queue.entries where isShown(entry) {
            page.take(entry, limit: limit)
        }
        queue.removeAll()
    }

    private func isShown(_ entry: QueueEntry) -> Bool {
        !page.isFull && entry.sequenceNumber > after && !entry.progress.isInFlight
            && (!queue.isSwept(entry.sequenceNumber) || !events.isTooOld(entry.event))
    }
}

/// A page of a dispatcher's pending events in order. It has as many events as requested, or fewer if they are large.
public struct QueuePage: Sendable, Equatable {
    /// The stored JSON of each event, not transformed.
    public private(set) var events: [[UInt8]] = []
    /// The sequence number after which the next page begins; nil on the last page.
    public private(set) var next: SequenceNumber?
    private var last: SequenceNumber = 0
    private var bytes = 0

    init() {}

    /// True if an event did not fit.
    var isFull: Bool { next != nil }

    /// Adds an event if it fits. Otherwise it is the first of the next page.
    mutating func take(_ entry: QueueEntry, limit: Int) {
        let json = entry.event.json(attempt: entry.progress.attempts + 1, isReplayed: entry.progress.isReplayed)
        guard events.isEmpty || (events.count < limit && bytes + json.count + 1 <= PageLimit.bytes) else {
            next = last
            return
        }
        events.append(json)
        // The one is for a comma.
        bytes += json.count + 1
        last = entry.sequenceNumber
    }
}
