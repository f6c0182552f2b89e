/// The state of one dispatcher in the queue: its settled events, its buffered events, and its read position. Pure.
///
/// The buffer holds no more than a few batches, however large the backlog is (Behaviour Q6).
struct DispatcherQueue {
    let number: DispatcherNumber
    /// The buffered events: in flight, or pending.
    private var buffer: EventBuffer
    /// The replay of the last rewind; nil if there was none.
    let replay: Replay?
    /// The sweeper settles no event up to this one for this dispatcher: each of them is read, and too old ones expire
    /// in the buffer. A rewind starts a new count of events, from which the sweeper's settlements are not subtracted.
    private let sweptAfter: SequenceNumber
    /// Up to this event, the dispatcher's load rule is judged as events are read: they were stored before the dispatcher
    /// was added (Behaviour R4).
    let judgedThrough: SequenceNumber
    /// Every event up to this sequence number has been buffered or skipped.
    private(set) var readPosition: SequenceNumber
    /// The events that were settled before this start. Ranges after ``readPosition`` have to be skipped.
    private var before: Settled
    /// The count of events that were stored before this queue was created.
    private var older: EventCount
    /// The chunk being read, and the offset of its next record.
    private var chunk: Chunk?
    private var offset = 0

    /// - Parameters:
    ///   - older: the store's count of events for this dispatcher.
    ///   - replay: the replay of the last rewind; nil if there was none.
    ///   - sweptAfter: the last event that the sweeper must leave to this dispatcher.
    ///   - judgedThrough: the last event that was stored before the dispatcher was added.
    init(
        number: DispatcherNumber, settled: Settled, older: EventCount = .none, replay: Replay? = nil,
        sweptAfter: SequenceNumber = 0, judgedThrough: SequenceNumber = 0
    ) {
        self.number = number
        (self.replay, self.sweptAfter, self.judgedThrough) = (replay, sweptAfter, judgedThrough)
        buffer = EventBuffer(replay: replay)
        self.older = older
        before = settled
        readPosition = settled.position
    }

    /// All buffered events in order. Linear in the size of the buffer.
    var entries: [QueueEntry] { buffer.all }

    /// The number of buffered events.
    var count: Int { buffer.count }

    var inFlightCount: Int { buffer.inFlightCount }

    /// The size of the buffered events that are not in flight, in bytes.
    var waitingBytes: Int { buffer.waitingBytes }

    /// The number of times that a buffered event was read or changed, for tests of the cost.
    var visits: Int { buffer.visits }

    /// All events up to this sequence number are settled.
    var position: SequenceNumber {
        buffer.firstNumber.map { $0 - 1 } ?? readPosition
    }

    /// All settled events: those that were read and are not buffered any more, and those that were settled before this
    /// start. Gaps between two buffered events that contain only other dispatchers' events are in no range.
    var settled: Settled {
        let ranges = before.ranges.filter { $0.upperBound > readPosition }
        return Settled(through: position, and: ranges + buffer.gaps(through: readPosition))
    }

    /// The oldest buffered event.
    var first: QueueEntry? { buffer.first }

    /// The oldest buffered event that is not in flight.
    var firstWaiting: QueueEntry? { buffer.firstWaiting }

    /// The sequence number of the first pending event, or a lower bound of it if the event has not been read.
    var oldestWaiting: SequenceNumber { buffer.firstWaitingNumber ?? readPosition + 1 }

    /// Returns true if the event was stored before this queue was created. An earlier daemon may have sent it.
    func isOlder(_ sequenceNumber: SequenceNumber) -> Bool { older.isOlder(sequenceNumber) }

    /// Returns the number of events that were sent for the first time. Events that an earlier daemon received do not count:
    /// that daemon may have sent them.
    func firstSends(among sequenceNumbers: some Sequence<SequenceNumber>) -> Int {
        entries(of: sequenceNumbers).count { $0.progress.sends == 1 && !isOlder($0.sequenceNumber) }
    }

    /// Returns the buffered events among `sequenceNumbers`.
    func entries(of sequenceNumbers: some Sequence<SequenceNumber>) -> [QueueEntry] {
        sequenceNumbers.compactMap { buffer[$0] }
    }

    /// Returns the buffered events up to `newest` that are not in flight. Linear in the size of the buffer.
    func waiting(through newest: SequenceNumber) -> SequenceSet { buffer.waiting(through: newest) }

    /// The events in flight. Linear in the size of the buffer.
    var inFlight: SequenceSet { buffer.inFlight }

    /// Returns true if a range may contain an event that is buffered or not yet read.
    func mayHold(_ range: ClosedRange<SequenceNumber>) -> Bool {
        range.upperBound > readPosition || buffer.isAny(in: range)
    }

    /// Returns true if an event is neither settled nor has ever been buffered.
    func isUnread(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber > readPosition && before.range(around: sequenceNumber) == nil
    }

    /// Returns true if the sweeper may settle an event for this dispatcher.
    func isSwept(_ sequenceNumber: SequenceNumber) -> Bool { sequenceNumber > sweptAfter }

    /// Returns true if a rewind made an event pending again, and it still is.
    func isPendingAgain(_ sequenceNumber: SequenceNumber) -> Bool {
        guard replay?.contains(sequenceNumber) == true else { return false }
        return buffer[sequenceNumber] != nil || isUnread(sequenceNumber)
    }

    // MARK: Reading

    /// Returns the number of events for this dispatcher that have not been read, by the store's count.
    func unread(in source: some EventSource) -> Int { unread(of: source.unsettledCount(of: number)) }

    /// Returns the number of events that have not been read if `unsettled` are not settled.
    private func unread(of unsettled: Int) -> Int { max(0, unsettled + older.foundCount - count) }

    /// The result of reading ahead.
    struct Preparation {
        var end: End
        /// True if an event was skipped because the sweeper had settled it.
        var hasSkipped = false
        /// Events that were read beyond the store's count and are to be counted now.
        var found = RouteTallies()

        enum End {
            /// As many events are buffered as requested, or all there are.
            case ready
            /// The events after this sequence number have to be read from the store first.
            case unread(behind: SequenceNumber)
            /// This many events were counted, but do not exist.
            case lost(Int)
        }
    }

    /// Reads events from memory until `count` pending events, or `bytes` of them, are buffered, or until all are read.
    mutating func prepare(_ count: Int, bytes: Int = .max, from source: some EventSource) -> Preparation {
        var preparation = readAhead(count, bytes: bytes, from: source)
        preparation.found = older.takeFound()
        return preparation
    }

    private mutating func readAhead(_ count: Int, bytes: Int, from source: some EventSource) -> Preparation {
        var preparation = Preparation(end: .ready)
        let unsettled = source.unsettledCount(of: number)
        while unread(of: unsettled) > 0, !fill(count, bytes: bytes, from: source, &preparation.hasSkipped) {
            guard readPosition < source.lastStored else {
                let missing = unread(of: unsettled)
                if missing > 0 { preparation.end = .lost(missing) }
                break
            }
            guard let chunk = source.recentChunk(after: readPosition) else {
                preparation.end = .unread(behind: readPosition)
                return preparation
            }
            load(chunk)
        }
        if unread(of: unsettled) == 0 { skip(to: source.lastStored) }
        return preparation
    }

    /// Reads events of the current chunk until `count` pending events, or `bytes` of them, are buffered, or until the
    /// chunk ends.
    /// - Parameter hasSkipped: is set to true if an event was skipped because the sweeper had settled it.
    /// - Returns: false if the chunk ended first. The caller continues with ``load(_:)``.
    mutating func fill(
        _ count: Int, bytes: Int = .max, from source: some EventSource, _ hasSkipped: inout Bool
    ) -> Bool {
        var waiting = buffer.count - buffer.inFlightCount
        // Cache the route's lookup: adjacent events mostly have the same route.
        var route: (number: RouteNumber, isTaken: Bool)?
        while waiting < count, buffer.waitingBytes < bytes {
            guard let event = nextEvent() else { return false }
            if let done = before.range(around: event.sequenceNumber) {
                pass(done)
                continue
            }
            // Events missing in between were lost.
            if event.sequenceNumber > readPosition + 1 { buffer.pass(through: event.sequenceNumber - 1) }
            readPosition = event.sequenceNumber
            if route?.number != event.route { route = (event.route, source.isRoute(event.route, to: number)) }
            guard route?.isTaken == true else { continue }
            if isSwept(event.sequenceNumber), source.hasPassed(event) {
                buffer.pass(through: readPosition)
                hasSkipped = true
            } else {
                older.take(event)
                buffer.append(event)
                waiting += 1
            }
        }
        return true
    }

    private mutating func pass(_ done: ClosedRange<SequenceNumber>) {
        readPosition = done.upperBound
        buffer.pass(through: readPosition)
        if done == before.ranges.last { before = Settled(through: readPosition) }
    }

    /// Continues in another chunk, which covers the events after ``readPosition``.
    mutating func load(_ next: Chunk) {
        chunk = next
        offset = 0
    }

    /// Skips all events up to `sequenceNumber`: none of them is for this dispatcher.
    mutating func skip(to sequenceNumber: SequenceNumber) {
        move(to: sequenceNumber)
        chunk = nil
    }

    /// Moves the read position to `sequenceNumber` without reading the events in between, which may have been settled
    /// by the sweeper.
    private mutating func move(to sequenceNumber: SequenceNumber) {
        guard sequenceNumber > readPosition else { return }
        readPosition = sequenceNumber
        buffer.pass(through: sequenceNumber)
    }

    private mutating func nextEvent() -> StoredEvent? {
        while let event = chunk?.event(at: offset) {
            offset = event.end
            if event.sequenceNumber > readPosition { return event }
        }
        if let chunk { move(to: chunk.lastSequenceNumber) }
        chunk = nil
        return nil
    }

    /// Counts events that were settled without having been buffered.
    /// - Returns: the events beyond the store's count, to be counted now.
    mutating func settledUnread(_ events: [StoredEvent]) -> RouteTallies {
        for event in events { older.take(event) }
        return older.takeFound()
    }

    /// Drops the chunk being read, which may have erased events. The next events are read again.
    mutating func forgetChunk() { chunk = nil }

    // MARK: Taking

    /// Returns the next event that may go into a batch, or nil if there is none (Behaviour Q2).
    /// - Parameter last: the previous result for the same batch; nil for the first call.
    mutating func nextCandidate(behind last: SequenceNumber?, in room: BatchRoom) -> QueueEntry? {
        buffer.nextFree(behind: last, through: room.through, waitsForKeys: !room.keepsOrder)
    }

    // MARK: Settling

    /// Marks events as in flight.
    mutating func markInFlight(_ sequenceNumbers: SequenceSet) {
        buffer.markInFlight(sequenceNumbers)
    }

    /// Marks events as no longer in flight, so that they are sent again.
    mutating func takeBack(_ sequenceNumbers: SequenceSet, _ change: (inout Progress) -> Void = { _ in }) {
        buffer.takeBack(sequenceNumbers, change)
    }

    /// Removes settled events from the buffer.
    mutating func remove(_ sequenceNumbers: SequenceSet) -> [SettledEvent] {
        buffer.remove(sequenceNumbers)
    }

    /// Removes all events from the buffer.
    mutating func removeAll() {
        buffer = EventBuffer(replay: replay)
    }

    // MARK: Ages

    /// Returns the time at which the first pending event of the buffer becomes too old, on the age scale, or nil if
    /// none does.
    mutating func firstEnd(maxAge: Int64) -> Int64? {
        buffer.firstEnd(maxAge: maxAge)
    }

    /// Returns the pending events of the buffer that are too old.
    mutating func due(at stamp: Int64, maxAge: Int64) -> SequenceSet {
        buffer.due(at: stamp, maxAge: maxAge)
    }
}
