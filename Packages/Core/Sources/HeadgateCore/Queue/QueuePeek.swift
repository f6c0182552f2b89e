/// Looks at the next events of a dispatcher's queue and takes none (Protocol, `queue.peek`). It goes through the queue in a
/// copy of the dispatcher's place, a chunk a turn where they have to be read from the store, and holds no more than it
/// gives out.
final class QueuePeek {
    private let events: EventQueue
    private var queue: DispatcherQueue
    /// Up to where it looks, so that it ends under constant load.
    private let newest: SequenceNumber
    /// Only what comes behind this one.
    private let after: SequenceNumber
    private let limit: Int
    private let then: (Result<QueuePage, StoreFault>) -> Void
    private var page = QueuePage()
    /// No more events than these, behind those in hand, have not been looked at.
    private var unread: Int

    init(
        into queue: DispatcherQueue, in events: EventQueue, after: SequenceNumber, limit: Int,
        then: @escaping (Result<QueuePage, StoreFault>) -> Void
    ) {
        self.events = events
        self.after = after
        self.limit = limit
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
        // Never before the call returns, as nothing here does.
        events.scheduler.soon { [then, page] in then(.success(page)) }
    }

    /// - Returns: false when the chunk has ended.
    private func fill() -> Bool {
        var hasPassedOver = false
        let isFilled = queue.fill(1, from: events, &hasPassedOver)
        unread -= queue.count
        take()
        return isFilled
    }

    private func read() {
        events.store.read(after: queue.readPosition) { [self] result in
            switch result {
            case .success(let chunk?): queue.load(chunk)
            case .success(nil): queue.skip(to: newest)
            case .failure(let fault): return then(.failure(fault))
            }
            readOn()
        }
    }

    /// Gives out what is in hand and waits, and lets go of it.
    private func take() {
        for entry in queue.entries where isShown(entry) {
            page.take(entry.event, attempt: entry.progress.attempts + 1, limit: limit)
        }
        queue.removeAll()
    }

    private func isShown(_ entry: QueueEntry) -> Bool {
        !page.isFull && entry.sequenceNumber > after && !entry.progress.isInFlight && !events.isTooOld(entry.event)
    }
}

/// Some of what waits for a dispatcher, in order: as many events as were asked for, or fewer where they are large.
public struct QueuePage: Sendable, Equatable {
    /// Each event's JSON as it is stored, not transformed yet.
    public private(set) var events: [[UInt8]] = []
    /// Behind which event there are more; nil when these are all.
    public private(set) var next: SequenceNumber?
    private var last: SequenceNumber = 0
    private var bytes = 0

    init() {}

    /// Whether an event had no room any more.
    var isFull: Bool { next != nil }

    /// Takes the next event in if it has room; else it is the first of the next page.
    mutating func take(_ event: StoredEvent, attempt: Int, limit: Int) {
        let json = event.json(attempt: attempt)
        guard events.isEmpty || (events.count < limit && bytes + json.count + 1 <= PageLimit.bytes) else {
            next = last
            return
        }
        events.append(json)
        // With the comma behind it.
        bytes += json.count + 1
        last = event.sequenceNumber
    }
}

/// How large the pages are in which stored events are shown.
enum PageLimit {
    /// The most bytes of a page's events in JSON, with what is told of them. A single one that is larger comes alone.
    static let bytes = 512 << 10
}
