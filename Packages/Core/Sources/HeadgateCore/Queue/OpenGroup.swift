import HeadgateData

/// The group of events that collects new events until it is committed.
struct OpenGroup {
    private var records = RecordWriter()
    private var ids = RecentIDsWriter()
    /// The events of the group by route.
    private(set) var tallies = RouteTallies()
    private var lastSequenceNumber: SequenceNumber = 0
    private(set) var tally = Tally.zero
    /// Dead letters whose events are in the group.
    private var requeued: [DeadLetterNumber] = []
    private var ages = GroupAges()
    /// The arrival times of clients' events.
    var arrivals = ArrivalTimes()
    /// The entries for the event trace.
    var traced: TraceGroup
    /// Waiters that are notified when the group is committed.
    var waiters: [StoreWaiter] = []

    /// The expected size of the group. Memory for it is reserved.
    private let expected: Tally
    /// The size of the previous group.
    private let before: Tally

    init(expecting expected: Tally = .zero, behind before: Tally = .zero) {
        (self.expected, self.before) = (expected, before)
        let bytes = expected.bytes + expected.events * RecordHeader.size
        // The extra room is needed because an event reserves its largest possible size.
        records = RecordWriter(expecting: bytes + bytes / 16 + 64)
        traced = TraceGroup(expecting: expected.events)
    }

    /// Begins the next group. Its expected size is that of the larger of the last two groups, or half of the previous
    /// expectation. A small group between large ones thus does not cause memory to be reserved step by step again.
    mutating func beginNext() {
        let half = Tally(events: expected.events / 2, bytes: expected.bytes / 2)
        self = OpenGroup(expecting: tally.most(of: before).most(of: half), behind: tally)
    }

    var byteCount: Int { records.byteCount }

    /// True if the group has neither an event nor a waiter.
    var isIdle: Bool { tally.events == 0 && waiters.isEmpty }

    /// Adds an event from a client.
    /// - Parameter byteCount: the stored size of the event under its sequence number.
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

    /// Adds the event of a dead letter, which is deleted when the group is committed (Behaviour D10).
    mutating func append(
        _ event: StoredEvent, of deadLetter: DeadLetterNumber, sequenceNumber: SequenceNumber, route: RouteNumber,
        receivedStamp: Int64
    ) {
        let bytes = records.append(
            event, sequenceNumber: sequenceNumber, route: route, receivedStamp: receivedStamp)
        ages.add(receivedStamp: receivedStamp, timeToLive: event.timeToLive)
        requeued.append(deadLetter)
        count(sequenceNumber, route: route, bytes: bytes)
    }

    @inline(__always)
    private mutating func count(_ sequenceNumber: SequenceNumber, route: RouteNumber, bytes: Int) {
        lastSequenceNumber = sequenceNumber
        let one = Tally(events: 1, bytes: bytes)
        tallies.add(one, route: route)
        tally += one
    }

    /// Returns the events of the group as a chunk, or nil if there are none.
    mutating func takeChunk() -> Chunk? {
        guard tally.events > 0 else { return nil }
        return Chunk(bytes: records.take(), lastSequenceNumber: lastSequenceNumber)
    }

    mutating func takeWaiters() -> [StoreWaiter] {
        defer { waiters = [] }
        return waiters
    }

    mutating func group(
        _ chunk: Chunk, behind: SequenceNumber, newRoutes: [RouteNumber: [DispatcherNumber]],
        initialState: InitialState,
        forgottenIDs: SequenceNumber
    ) -> AppendGroup {
        AppendGroup(
            chunk: chunk, behind: behind, tallies: tallies, ages: ages, newRoutes: newRoutes,
            initialState: initialState,
            recentIDs: ids.take(lastSequenceNumber: lastSequenceNumber), forgottenIDs: forgottenIDs,
            requeued: requeued)
    }
}

extension Tally {
    /// Returns the larger number and the larger size of both.
    fileprivate func most(of other: Tally) -> Tally {
        Tally(events: max(events, other.events), bytes: max(bytes, other.bytes))
    }
}
