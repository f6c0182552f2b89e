/// What is stored, as far as a dispatcher's queue has to know it.
protocol EventSource {
    /// The newest event that is stored.
    var lastStored: SequenceNumber { get }
    /// What a dispatcher has not settled.
    func unsettled(of dispatcher: DispatcherNumber) -> Tally
    /// The events behind a place if they are in memory.
    func recentChunk(after sequenceNumber: SequenceNumber) -> Chunk?
    /// Whether a route leads to a dispatcher.
    func isRoute(_ route: RouteNumber, to dispatcher: DispatcherNumber) -> Bool
    /// Whether the sweeper has passed an event and settled it for all who had not read it.
    func hasPassed(_ event: StoredEvent) -> Bool
    /// How old events may become, in milliseconds.
    var maxAge: Int64 { get }
}

/// One dispatcher's place in the queue: what it has settled, what it has in hand, and where it reads on. Pure.
///
/// It holds no more events than a few batches, however many wait (Behaviour Q6).
struct DispatcherQueue {
    let number: DispatcherNumber
    /// Events in hand: in flight, or waiting to be sent (again).
    private var hand = Hand()
    /// Every event up to and including this one has been taken in hand or skipped.
    private(set) var readPosition: SequenceNumber
    /// What was settled before the start: there are ranges behind ``readPosition`` to be passed over.
    private var before: Settled
    /// What was counted of the events that were stored before it was made.
    private var older: CountedEvents
    /// Where the next record is.
    private var chunk: Chunk?
    private var offset = 0

    /// - Parameter older: what the store has counted for it so far.
    init(number: DispatcherNumber, settled: Settled, older: CountedEvents = .none) {
        self.number = number
        self.older = older
        before = settled
        readPosition = settled.position
    }

    /// All events in hand, ascending, which is a walk over all of them.
    var entries: [QueueEntry] { hand.all }

    /// How many events are in hand.
    var count: Int { hand.count }

    var inFlightCount: Int { hand.inFlightCount }

    /// Bytes of what waits in hand.
    var waitingBytes: Int { hand.waitingBytes }

    /// How often an event in hand was looked at, or changed.
    var visits: Int { hand.visits }

    /// All events up to and including this one are settled.
    var position: SequenceNumber {
        hand.firstNumber.map { $0 - 1 } ?? readPosition
    }

    /// All that is settled: what was read and is not in hand any more, and what was settled before. What of others' lies
    /// between two events in hand is in no range.
    var settled: Settled {
        let ranges = before.ranges.filter { $0.upperBound > readPosition }
        return Settled(through: position, and: ranges + hand.gaps(through: readPosition))
    }

    /// The oldest event that is in hand.
    var first: QueueEntry? { hand.first }

    /// The oldest event that is not in flight, of those in hand.
    var firstWaiting: QueueEntry? { hand.firstWaiting }

    /// No event before this one waits.
    var oldestWaiting: SequenceNumber { hand.firstWaitingNumber ?? readPosition + 1 }

    /// True if the event was stored before this queue was made: an earlier daemon may have sent it.
    func isOlder(_ sequenceNumber: SequenceNumber) -> Bool { older.isOlder(sequenceNumber) }

    /// Those of some events that are in hand.
    func entries(of sequenceNumbers: some Sequence<SequenceNumber>) -> [QueueEntry] {
        sequenceNumbers.compactMap { hand[$0] }
    }

    /// What waits in hand, up to an event, which is a walk over all of that.
    func waiting(through newest: SequenceNumber) -> SequenceSet { hand.waiting(through: newest) }

    /// What is in flight, which is a walk over all in hand.
    var inFlight: SequenceSet { hand.inFlight }

    /// Whether something that is in hand, or was not read yet, lies in a stretch.
    func mayHold(_ stretch: ClosedRange<SequenceNumber>) -> Bool {
        stretch.upperBound > readPosition || hand.isAny(in: stretch)
    }

    /// Whether an event is neither settled nor has been taken in hand.
    func isUnread(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber > readPosition && before.range(around: sequenceNumber) == nil
    }

    // MARK: Reading

    /// How many events for it, by what is counted of the store, have not been read.
    func unread(in source: some EventSource) -> Int { unread(of: source.unsettledCount(of: number)) }

    /// The same where so many are not settled.
    private func unread(of unsettled: Int) -> Int { max(0, unsettled + older.foundCount - count) }

    /// What came of reading ahead.
    struct Preparation {
        var end: End
        /// Whether events were passed over that have been settled unread.
        var hasPassedOver = false
        /// Events that came in hand and were not counted when they should have been.
        var found = RouteTallies()

        enum End {
            /// As many events wait as were wanted, or all there are.
            case ready
            /// What follows an event has to be read from the store first.
            case unread(behind: SequenceNumber)
            /// So many events were counted, and there are none left to be read.
            case lost(Int)
        }
    }

    /// Has `count` events wait in hand, or so many bytes of them, or all there are, from what is in memory.
    mutating func prepare(_ count: Int, bytes: Int = .max, from source: some EventSource) -> Preparation {
        var preparation = readAhead(count, bytes: bytes, from: source)
        preparation.found = older.takeFound()
        return preparation
    }

    private mutating func readAhead(_ count: Int, bytes: Int, from source: some EventSource) -> Preparation {
        var preparation = Preparation(end: .ready)
        let unsettled = source.unsettledCount(of: number)
        while unread(of: unsettled) > 0, !fill(count, bytes: bytes, from: source, &preparation.hasPassedOver) {
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

    /// Takes the next events in hand until `count` wait there, or so many bytes, or the present chunk ends.
    /// - Parameter hasPassedOver: is set where an event has been settled unread.
    /// - Returns: false when the chunk ended first: ``load(_:)`` the next one.
    mutating func fill(
        _ count: Int, bytes: Int = .max, from source: some EventSource, _ hasPassedOver: inout Bool
    ) -> Bool {
        var waiting = hand.count - hand.inFlightCount
        // Mostly all that lie together go to the same.
        var route: (number: RouteNumber, isTaken: Bool)?
        while waiting < count, hand.waitingBytes < bytes {
            guard let event = nextEvent() else { return false }
            if let done = before.range(around: event.sequenceNumber) {
                pass(done)
                continue
            }
            // What is missing in between was lost.
            if event.sequenceNumber > readPosition + 1 { hand.pass(through: event.sequenceNumber - 1) }
            readPosition = event.sequenceNumber
            if route?.number != event.route { route = (event.route, source.isRoute(event.route, to: number)) }
            guard route?.isTaken == true else { continue }
            if source.hasPassed(event) {
                hand.pass(through: readPosition)
                hasPassedOver = true
            } else {
                older.take(event)
                hand.append(event)
                waiting += 1
            }
        }
        return true
    }

    private mutating func pass(_ done: ClosedRange<SequenceNumber>) {
        readPosition = done.upperBound
        hand.pass(through: readPosition)
        if done == before.ranges.last { before = Settled(through: readPosition) }
    }

    /// Goes on in another chunk, the one behind ``readPosition``.
    mutating func load(_ next: Chunk) {
        chunk = next
        offset = 0
    }

    /// Skips to the end: there is nothing more to read up to `sequenceNumber`.
    mutating func skip(to sequenceNumber: SequenceNumber) {
        move(to: sequenceNumber)
        chunk = nil
    }

    /// Goes on behind an event, without a look at those before it: some may have been settled unread.
    private mutating func move(to sequenceNumber: SequenceNumber) {
        guard sequenceNumber > readPosition else { return }
        readPosition = sequenceNumber
        hand.pass(through: sequenceNumber)
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

    /// Events were settled that were not in hand.
    /// - Returns: those that were not counted when they should have been.
    mutating func settledUnread(_ events: [StoredEvent]) -> RouteTallies {
        for event in events { older.take(event) }
        return older.takeFound()
    }

    // MARK: Taking

    /// The next event that may go into a batch (Behaviour Q2).
    /// - Parameter last: the one that this told before for the same batch; nil to begin.
    mutating func nextCandidate(behind last: SequenceNumber?, in room: BatchRoom) -> QueueEntry? {
        hand.nextFree(behind: last, through: room.through, waitsForKeys: !room.keepsOrder)
    }

    // MARK: Settling

    /// Marks events as being on their way.
    mutating func markInFlight(_ sequenceNumbers: SequenceSet) {
        hand.markInFlight(sequenceNumbers)
    }

    /// Takes events back, to be sent again.
    mutating func takeBack(_ sequenceNumbers: SequenceSet, _ change: (inout Progress) -> Void = { _ in }) {
        hand.takeBack(sequenceNumbers, change)
    }

    /// Lets go of events that are done with.
    mutating func remove(_ sequenceNumbers: SequenceSet) -> [SettledEvent] {
        hand.remove(sequenceNumbers)
    }

    /// Lets go of all that is in hand.
    mutating func removeAll() {
        hand = Hand()
    }

    // MARK: Ages

    /// When the first of what waits in hand becomes too old, on the age scale; nil when nothing does.
    mutating func firstEnd(maxAge: Int64) -> Int64? {
        hand.firstEnd(maxAge: maxAge)
    }

    /// What waits in hand and is too old.
    mutating func due(at stamp: Int64, maxAge: Int64) -> SequenceSet {
        hand.due(at: stamp, maxAge: maxAge)
    }
}

/// What was counted for a dispatcher of the events that were stored when its place in the queue was made.
///
/// The count is the store's, which may be damaged. An event too many would be taken for one that came later, and that would never be
/// read: so what is found beyond the count is counted then (Behaviour Q8).
struct CountedEvents {
    /// The newest event that was stored.
    private let through: SequenceNumber
    /// How many of those that were counted have not been seen.
    private var left: Int
    /// Those that were seen and not counted.
    private var found = RouteTallies()

    static let none = CountedEvents(0, through: 0)

    init(_ count: Int, through newest: SequenceNumber) {
        (left, through) = (count, newest)
    }

    /// An event was seen for the first time.
    mutating func take(_ event: StoredEvent) {
        guard event.sequenceNumber <= through else { return }
        if left > 0 { left -= 1 } else { found.add(event) }
    }

    var foundCount: Int { found.total.events }

    func isOlder(_ sequenceNumber: SequenceNumber) -> Bool { sequenceNumber <= through }

    mutating func takeFound() -> RouteTallies {
        guard !found.isEmpty else { return RouteTallies() }
        defer { found = RouteTallies() }
        return found
    }
}
