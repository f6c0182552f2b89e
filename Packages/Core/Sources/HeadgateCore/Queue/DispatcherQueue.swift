/// One dispatcher's place in the queue: what it has settled, what it has in hand, and where it reads on. Pure.
///
/// It holds no more events than a few batches, however many wait (Behaviour Q6).
struct DispatcherQueue {
    let number: DispatcherNumber
    /// Events in hand, ascending: in flight, or waiting to be sent (again).
    private(set) var entries: [QueueEntry] = []
    private(set) var inFlightCount = 0
    /// Every event up to and including this one has been taken in hand or skipped.
    private(set) var readPosition: SequenceNumber
    /// What was settled before the start: there are ranges behind ``readPosition`` to be passed over.
    private var before: Settled
    /// Where the next record is.
    private var chunk: Chunk?
    private var offset = 0

    init(number: DispatcherNumber, settled: Settled) {
        self.number = number
        before = settled
        readPosition = settled.position
    }

    /// All events up to and including this one are settled.
    var position: SequenceNumber {
        entries.first.map { $0.sequenceNumber - 1 } ?? readPosition
    }

    /// All that is settled: what was read and is not in hand any more, and what was settled before.
    var settled: Settled {
        var ranges = before.ranges.filter { $0.upperBound > readPosition }
        var next = position + 1
        for entry in entries {
            if entry.sequenceNumber > next { ranges.append(next...entry.sequenceNumber - 1) }
            next = entry.sequenceNumber + 1
        }
        if next <= readPosition { ranges.append(next...readPosition) }
        return Settled(through: position, and: ranges)
    }

    /// The oldest event that is not in flight, of those in hand.
    var firstWaiting: QueueEntry? { entries.first { !$0.isInFlight } }

    /// No event before this one waits.
    var oldestWaiting: SequenceNumber { firstWaiting?.sequenceNumber ?? readPosition + 1 }

    /// Whether an event is neither settled nor has been taken in hand.
    func isUnread(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber > readPosition && before.range(around: sequenceNumber) == nil
    }

    // MARK: Reading

    /// Takes the next events in hand until `count` wait there, or the present chunk ends.
    /// - Parameter isWanted: whether an event goes to this dispatcher, and has not been settled unread.
    /// - Returns: false when the chunk ended first: ``load(_:)`` the next one.
    mutating func fill(_ count: Int, isWanted: (StoredEvent) -> Bool) -> Bool {
        var waiting = entries.count - inFlightCount
        while waiting < count {
            guard let event = nextEvent() else { return false }
            if let done = before.range(around: event.sequenceNumber) {
                pass(done)
                continue
            }
            readPosition = event.sequenceNumber
            guard isWanted(event) else { continue }
            entries.append(QueueEntry(event: event))
            waiting += 1
        }
        return true
    }

    private mutating func pass(_ done: ClosedRange<SequenceNumber>) {
        readPosition = done.upperBound
        if done == before.ranges.last { before = Settled(through: readPosition) }
    }

    /// Goes on in another chunk, the one behind ``readPosition``.
    mutating func load(_ next: Chunk) {
        chunk = next
        offset = 0
    }

    /// Skips to the end: there is nothing more to read up to `sequenceNumber`.
    mutating func skip(to sequenceNumber: SequenceNumber) {
        readPosition = max(readPosition, sequenceNumber)
        chunk = nil
    }

    private mutating func nextEvent() -> StoredEvent? {
        while let chunk {
            guard let event = chunk.event(at: offset) else {
                readPosition = max(readPosition, chunk.lastSequenceNumber)
                self.chunk = nil
                return nil
            }
            offset = chunk.offset(after: event)
            if event.sequenceNumber > readPosition { return event }
        }
        return nil
    }

    // MARK: Taking

    /// What may go into the next batch, in order: what waits, up to an event.
    /// - Parameter inOrderOfKeys: whether an event has to wait for older ones of its key that are on their way
    ///   (Behaviour Q2). Of events that go in one batch none waits for another.
    func candidates(through newest: SequenceNumber, inOrderOfKeys: Bool) -> ArraySlice<QueueEntry> {
        let due = entries.prefix { $0.sequenceNumber <= newest }
        guard inFlightCount > 0 else { return due }
        guard inOrderOfKeys else { return due.filter { !$0.isInFlight }[...] }
        var busyKeys: Set<ArraySlice<UInt8>> = []
        let free = due.filter { entry in
            guard let key = entry.event.key else { return !entry.isInFlight }
            if entry.isInFlight { busyKeys.insert(key) }
            return !busyKeys.contains(key)
        }
        return free[...]
    }

    // MARK: Settling

    /// Marks events as being on their way.
    mutating func markInFlight(_ sequenceNumbers: SequenceSet) {
        update(sequenceNumbers) { $0.isInFlight = true }
    }

    /// Takes events back, to be sent again.
    mutating func takeBack(_ sequenceNumbers: SequenceSet, _ change: (inout QueueEntry) -> Void = { _ in }) {
        update(sequenceNumbers) {
            $0.isInFlight = false
            change(&$0)
        }
    }

    /// Lets go of events that are done with.
    mutating func remove(_ sequenceNumbers: SequenceSet) -> [QueueEntry] {
        let removed = entries.filter { sequenceNumbers.contains($0.sequenceNumber) }
        if removed.count == entries.count {
            entries.removeAll(keepingCapacity: true)
        } else {
            entries.removeAll { sequenceNumbers.contains($0.sequenceNumber) }
        }
        countInFlight()
        return removed
    }

    private mutating func update(_ sequenceNumbers: SequenceSet, _ change: (inout QueueEntry) -> Void) {
        for index in entries.indices where sequenceNumbers.contains(entries[index].sequenceNumber) {
            change(&entries[index])
        }
        countInFlight()
    }

    private mutating func countInFlight() {
        inFlightCount = entries.count(where: \.isInFlight)
    }
}
