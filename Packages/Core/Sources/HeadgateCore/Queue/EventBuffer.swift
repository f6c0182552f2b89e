import HeadgateData

/// The buffered events of a dispatcher in order: in flight, or pending. Pure.
///
/// The cost of an operation depends on the number of events it concerns, and not on the size of the buffer. An event is
/// found by binary search. Frequent queries (the first pending event, the next that may be sent, the first to expire)
/// are answered by trees over the indices of the events. The index of a removed event is not reused; removed entries
/// are compacted when they are in the majority.
struct EventBuffer {
    /// The sequence number of the event at each index, kept after the event is removed.
    private var numbers: [SequenceNumber] = []
    /// The event at each index; nil if it was removed, or if events were skipped there.
    private var events: [StoredEvent?] = []
    /// The progress of the event at each index. It is separate from the events so that a change of progress does not
    /// touch them.
    private var progress: [Progress] = []
    private var held = IntegerSet()
    private var waiting = IntegerSet()
    /// Indices of pending events that do not wait for an older event of their key.
    private var free = IntegerSet()
    /// Indices without an event.
    private var holes = IntegerSet()
    /// The times at which pending events become too old.
    private var ends = DeadlineTree()
    private var keys = KeyOrder()
    /// The store's maximum age when it was last read.
    private var maxAge: Int64 = .max
    private(set) var count = 0
    private(set) var inFlightCount = 0
    /// The size of the events that are not in flight, in bytes.
    private(set) var waitingBytes = 0
    /// The number of times that an event was read or changed, for tests of the cost.
    private(set) var visits = 0
    /// The events that a rewind made pending again; nil if there are none.
    private var replay: Replay?

    init(replay: Replay? = nil) {
        self.replay = replay
    }

    var isEmpty: Bool { count == 0 }

    /// The oldest event.
    var first: QueueEntry? { held.next(from: 0).flatMap(entry) }

    /// The sequence number of the oldest event.
    var firstNumber: SequenceNumber? { held.next(from: 0).map { numbers[$0] } }

    /// The oldest event that is not in flight.
    var firstWaiting: QueueEntry? { waiting.next(from: 0).flatMap(entry) }

    /// The sequence number of the oldest event that is not in flight.
    var firstWaitingNumber: SequenceNumber? { waiting.next(from: 0).map { numbers[$0] } }

    /// All events in order. Linear in the size of the buffer.
    var all: [QueueEntry] { events.indices.compactMap(entry) }

    subscript(_ sequenceNumber: SequenceNumber) -> QueueEntry? {
        index(of: sequenceNumber).flatMap(entry)
    }

    private func entry(at index: Int) -> QueueEntry? {
        events[index].map { QueueEntry(event: $0, progress: progress[index]) }
    }

    // MARK: Adding

    /// Adds an event after all others.
    mutating func append(_ event: consuming StoredEvent) {
        clearAway()
        var progress = Progress()
        progress.isReplayed = replay?.contains(event.sequenceNumber) ?? false
        take(event, progress, isFree: true)
    }

    /// Records that all events after the last buffered one, up to `sequenceNumber`, are settled or lost.
    mutating func pass(through sequenceNumber: SequenceNumber) {
        guard let last = numbers.last, last < sequenceNumber else { return }
        if holes.contains(numbers.count - 1) {
            numbers[numbers.count - 1] = sequenceNumber
        } else {
            holes.insert(numbers.count)
            numbers.append(sequenceNumber)
            events.append(nil)
            progress.append(Progress())
        }
    }

    // MARK: Sending and settling

    /// Returns the next event that may be sent, or nil if there is none. An event that has to wait for an older one of
    /// its key is put aside (Behaviour Q2). Events in the same batch do not wait for each other.
    /// - Parameters:
    ///   - taken: the previous event of the batch; nil for the first one.
    ///   - newest: the last event that may be returned.
    ///   - waitsForKeys: false if an event waits only for older events that are put aside, and not for those in flight.
    mutating func nextFree(
        behind taken: SequenceNumber?, through newest: SequenceNumber, waitsForKeys: Bool = true
    ) -> QueueEntry? {
        var index = 0
        if let taken {
            index = firstIndex(behind: taken)
            comeForward(behind: taken)
        }
        while let next = free.next(from: index), numbers[next] <= newest, let entry = entry(at: next) {
            visits += 1
            if !waitsForKeys, keys.isClear { return entry }
            guard let key = entry.event.orderKey, waitsForKeys ? keys.isBusy(key) : keys.isAside(key) else {
                return entry
            }
            free.remove(next)
            keys.stepAside(entry.sequenceNumber, key)
            index = next + 1
        }
        return nil
    }

    /// Marks events as in flight.
    mutating func markInFlight(_ sequenceNumbers: SequenceSet) {
        for index in indexes(of: sequenceNumbers) where waiting.contains(index) {
            progress[index].isInFlight = true
            progress[index].sends += 1
            inFlightCount += 1
            waitingBytes -= events[index]?.byteCount ?? 0
            waiting.remove(index)
            free.remove(index)
            ends.set(index, to: nil)
            if let key = events[index]?.orderKey { keys.took(key) }
        }
    }

    /// Marks events as pending again, if they are in flight, and changes their progress.
    mutating func takeBack(_ sequenceNumbers: SequenceSet, _ change: (inout Progress) -> Void) {
        for index in indexes(of: sequenceNumbers) {
            guard let event = events[index] else { continue }
            let wasInFlight = progress[index].isInFlight
            progress[index].isInFlight = false
            change(&progress[index])
            guard wasInFlight else { continue }
            inFlightCount -= 1
            waitingBytes += event.byteCount
            wait(index, event)
            release(event, wasInFlight: true)
        }
    }

    /// Removes events.
    mutating func remove(_ sequenceNumbers: SequenceSet) -> [SettledEvent] {
        var removed: [SettledEvent] = []
        removed.reserveCapacity(sequenceNumbers.count)
        for index in indexes(of: sequenceNumbers) { remove(at: index, to: &removed) }
        if isEmpty { startOver() }
        return removed
    }

    private mutating func remove(at index: Int, to removed: inout [SettledEvent]) {
        // Take the event out of the array: a copy would retain its chunk another time.
        guard let event = events[index].take() else { return }
        held.remove(index)
        holes.insert(index)
        count -= 1
        let wasInFlight = progress[index].isInFlight
        if wasInFlight {
            inFlightCount -= 1
        } else {
            waitingBytes -= event.byteCount
            waiting.remove(index)
            free.remove(index)
            ends.set(index, to: nil)
        }
        release(event, wasInFlight: wasInFlight)
        let (sends, isReplayed) = (progress[index].sends, progress[index].isReplayed)
        removed.append(SettledEvent(event, sends: sends, isReplayed: isReplayed))
    }

    // MARK: Keys

    private mutating func wait(_ index: Int, _ event: StoredEvent) {
        waiting.insert(index)
        free.insert(index)
        ends.set(index, to: end(of: event))
    }

    /// Lets the next event of the key be sent, after an event is removed or no longer in flight.
    private mutating func release(_ event: StoredEvent, wasInFlight: Bool) {
        guard wasInFlight || !keys.isClear, let key = event.orderKey else { return }
        if wasInFlight { keys.released(key) }
        if !keys.isBusy(key) { comeForward(key) }
    }

    /// Lets the next event of a key be sent after `taken`, in the same batch.
    private mutating func comeForward(behind taken: SequenceNumber) {
        guard !keys.isClear, let index = index(of: taken), let key = events[index]?.orderKey else { return }
        comeForward(key)
    }

    /// Makes the first event that is put aside for a key free, if there is one.
    private mutating func comeForward(_ key: EventKey) {
        while let number = keys.comeForward(key) {
            guard let index = index(of: number), waiting.contains(index) else { continue }
            return free.insert(index)
        }
    }

    // MARK: Ages

    /// Returns the time at which the first pending event becomes too old, or nil if none does.
    /// - Parameter maxAge: the store's maximum age of events.
    mutating func firstEnd(maxAge: Int64) -> Int64? {
        follow(maxAge)
        return ends.earliest
    }

    /// Returns the pending events that are too old.
    mutating func due(at stamp: Int64, maxAge: Int64) -> SequenceSet {
        follow(maxAge)
        // The common case: no event is too old.
        guard ends.firstDue(at: stamp) != nil else { return SequenceSet() }
        var indexes: [Int] = []
        while let index = ends.firstDue(at: stamp) {
            ends.set(index, to: nil)
            indexes.append(index)
        }
        visits += indexes.count
        return SequenceSet(indexes.sorted().map { numbers[$0] })
    }

    private mutating func follow(_ maxAge: Int64) {
        guard maxAge != self.maxAge else { return }
        self.maxAge = maxAge
        var index = waiting.next(from: 0)
        while let next = index {
            ends.set(next, to: events[next].map(end))
            index = waiting.next(from: next + 1)
        }
    }

    /// Returns the earlier of the end by the store's maximum age and the end of the event's own time to live (Behaviour
    /// Q4). Both count from the rewind if there was one, since an event that has expired is sent again, too (Behaviour
    /// R2).
    private func end(of event: borrowing StoredEvent) -> Int64 {
        let delay = replay?.delay(of: event.header) ?? 0
        let (byAge, isNever) = (event.receivedStamp + delay).addingReportingOverflow(maxAge)
        let expiry = event.header.expiryStamp == 0 ? 0 : event.header.expiryStamp &+ delay
        return min(isNever ? .max : byAge, expiry == 0 ? .max : expiry)
    }

    // MARK: Queries

    /// Returns the pending events up to `newest`. Linear in their number.
    func waiting(through newest: SequenceNumber) -> SequenceSet {
        var found = SequenceSet()
        var index = waiting.next(from: 0)
        while let next = index, numbers[next] <= newest {
            found.append(numbers[next])
            index = waiting.next(from: next + 1)
        }
        return found
    }

    /// The events in flight. Linear in the size of the buffer.
    var inFlight: SequenceSet {
        SequenceSet(numbers.indices.lazy.filter { progress[$0].isInFlight && held.contains($0) }.map { numbers[$0] })
    }

    /// Returns true if a buffered event lies in a range.
    func isAny(in range: ClosedRange<SequenceNumber>) -> Bool {
        held.next(from: firstIndex(behind: range.lowerBound - 1)).map { numbers[$0] <= range.upperBound } ?? false
    }

    /// Returns the ranges between buffered events in which all events were removed or skipped. The range after the last
    /// buffered event reaches to `end`.
    func gaps(through end: SequenceNumber) -> [ClosedRange<SequenceNumber>] {
        var ranges: [ClosedRange<SequenceNumber>] = []
        var index = held.next(from: 0).flatMap { holes.next(from: $0) }
        while let gap = index {
            let next = held.next(from: gap)
            let (lower, upper) = (numbers[gap - 1] + 1, next.map { numbers[$0] - 1 } ?? end)
            if lower <= upper { ranges.append(lower...upper) }
            index = next.flatMap { holes.next(from: $0) }
        }
        return ranges
    }

    // MARK: Indices

    /// Returns the first index after an event's.
    private func firstIndex(behind sequenceNumber: SequenceNumber) -> Int {
        // Sequence numbers are mostly consecutive, so the index is first guessed from the number.
        if let first = numbers.first, let guess = Int(exactly: sequenceNumber &- first), guess >= 0,
            guess < numbers.count, numbers[guess] == sequenceNumber
        {
            return guess + 1
        }
        return BinarySearch.first(in: 0..<numbers.count) { numbers[$0] > sequenceNumber }
    }

    private func index(of sequenceNumber: SequenceNumber) -> Int? {
        let index = firstIndex(behind: sequenceNumber) - 1
        return index >= 0 && numbers[index] == sequenceNumber && held.contains(index) ? index : nil
    }

    /// Returns the indices of events, and of removed entries between them. Consecutive events have consecutive indices,
    /// so only the ends of each range are searched.
    private mutating func indexes(of sequenceNumbers: SequenceSet) -> some Sequence<Int> {
        visits += sequenceNumbers.count
        return sequenceNumbers.ranges.map {
            firstIndex(behind: $0.lowerBound - 1)..<firstIndex(behind: $0.upperBound)
        }.joined()
    }

    /// Compacts the arrays once removed entries are in the majority. Between two events one removed entry is kept.
    private mutating func clearAway() {
        guard events.count > 4 * count + 64 else { return }
        var rest = EventBuffer(replay: replay)
        (rest.keys, rest.maxAge, rest.visits) = (keys, maxAge, visits + events.count)
        for index in events.indices {
            guard let event = events[index] else {
                rest.pass(through: numbers[index])
                continue
            }
            rest.take(event, progress[index], isFree: free.contains(index))
        }
        self = rest
    }

    private mutating func take(_ event: consuming StoredEvent, _ progress: Progress, isFree: Bool) {
        let index = events.count
        let (bytes, end) = (event.byteCount, end(of: event))
        numbers.append(event.sequenceNumber)
        events.append(consume event)
        self.progress.append(progress)
        held.insert(index)
        count += 1
        guard !progress.isInFlight else {
            inFlightCount += 1
            return
        }
        waitingBytes += bytes
        waiting.insert(index)
        if isFree { free.insert(index) }
        ends.set(index, to: end)
    }

    /// Resets an empty buffer: all indices are free again. The index sets are empty already and keep their memory.
    private mutating func startOver() {
        numbers.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
        progress.removeAll(keepingCapacity: true)
        holes.removeAll()
        keys = KeyOrder()
    }
}

extension Replay {
    /// Returns the time from the receipt of a replayed event to the rewind, in milliseconds; 0 for other events.
    fileprivate func delay(of header: RecordHeader) -> Int64 {
        contains(header.sequenceNumber) ? max(0, stamp - header.receivedStamp) : 0
    }
}
