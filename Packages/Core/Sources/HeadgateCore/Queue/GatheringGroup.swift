import HeadgateData

/// Events that will be committed together, in the making.
struct GatheringGroup {
    private var records = RecordWriter()
    private var ids = RecentIDsWriter()
    /// What the group holds of each route.
    private(set) var tallies = RouteTallies()
    private var lastSequenceNumber: SequenceNumber = 0
    private(set) var tally = Tally.zero
    /// Dead letters whose events are in it again.
    private var requeued: [LetterNumber] = []
    private var ages = GroupAges()
    /// When clients' events came.
    var arrivals = Arrivals()
    /// What is to be remembered of them.
    var traced: TraceGroup
    /// Who wants to know when the group is committed.
    var waiters: [StoreWaiter] = []

    /// What is expected to come: there is room for it.
    private let expected: Tally
    /// What came in the group before.
    private let before: Tally

    init(expecting expected: Tally = .zero, behind before: Tally = .zero) {
        (self.expected, self.before) = (expected, before)
        let bytes = expected.bytes + expected.events * RecordHeader.size
        // A bit more: an event asks for what it takes at most, and no two groups are the same.
        records = RecordWriter(expecting: bytes + bytes / 16 + 64)
        traced = TraceGroup(expecting: expected.events)
    }

    /// Begins the group behind it, for which as much is expected as came in one of the last two, or half of what was expected: little that
    /// comes between much does not make that grow piece by piece.
    mutating func beginNext() {
        let half = Tally(events: expected.events / 2, bytes: expected.bytes / 2)
        self = GatheringGroup(expecting: tally.most(of: before).most(of: half), behind: tally)
    }

    var byteCount: Int { records.byteCount }

    /// Whether there is neither an event to commit nor anyone to tell.
    var isIdle: Bool { tally.events == 0 && waiters.isEmpty }

    /// - Parameter byteCount: what the event takes under its number.
    mutating func append(
        _ event: TrackedEvent, _ byteCount: Int, known fingerprint: DedupeWindow.Fingerprint?,
        sequenceNumber: SequenceNumber,
        receivedAt: Timestamp, receivedStamp: Int64
    ) {
        records.append(
            event, byteCount, sequenceNumber: sequenceNumber, receivedAt: receivedAt, receivedStamp: receivedStamp)
        ages.add(receivedStamp: receivedStamp, timeToLive: event.timeToLive)
        if let fingerprint {
            ids.append(fingerprint, sequenceNumber: sequenceNumber, receivedStamp: receivedStamp)
        }
        count(sequenceNumber, route: event.route, bytes: byteCount)
    }

    /// Takes in the event of a dead letter, which goes when the group is committed (Behaviour D10).
    mutating func append(
        _ event: StoredEvent, of letter: LetterNumber, sequenceNumber: SequenceNumber, route: RouteNumber,
        receivedStamp: Int64
    ) {
        let bytes = records.append(
            event, sequenceNumber: sequenceNumber, route: route, receivedStamp: receivedStamp)
        ages.add(receivedStamp: receivedStamp, timeToLive: event.timeToLive)
        requeued.append(letter)
        count(sequenceNumber, route: route, bytes: bytes)
    }

    @inline(__always)
    private mutating func count(_ sequenceNumber: SequenceNumber, route: RouteNumber, bytes: Int) {
        lastSequenceNumber = sequenceNumber
        let one = Tally(events: 1, bytes: bytes)
        tallies.add(one, route: route)
        tally += one
    }

    /// The events gathered; nil when there are none.
    mutating func takeChunk() -> Chunk? {
        guard tally.events > 0 else { return nil }
        return Chunk(bytes: records.take(), lastSequenceNumber: lastSequenceNumber)
    }

    mutating func takeWaiters() -> [StoreWaiter] {
        defer { waiters = [] }
        return waiters
    }

    mutating func group(
        _ chunk: Chunk, behind: SequenceNumber, newRoutes: [RouteNumber: [DispatcherNumber]], groundwork: Groundwork,
        forgottenIDs: SequenceNumber
    ) -> AppendGroup {
        AppendGroup(
            chunk: chunk, behind: behind, tallies: tallies, ages: ages, newRoutes: newRoutes, groundwork: groundwork,
            recentIDs: ids.take(lastSequenceNumber: lastSequenceNumber), forgottenIDs: forgottenIDs,
            requeued: requeued)
    }
}

extension Tally {
    /// The greater of both, in each.
    fileprivate func most(of other: Tally) -> Tally {
        Tally(events: max(events, other.events), bytes: max(bytes, other.bytes))
    }
}
