import HeadgateData

/// A named destination with its own queue position, limits and retry state: one that fails never holds up another.
///
/// A dispatch goes forward through it: ``evaluate()`` looks whether the way is open, takes a batch and hands it to the
/// sender; `Dispatcher+Outcome` settles what comes back.
final class Dispatcher {
    var settings: DispatcherSettings
    var kind: String
    var sender: any Sender
    /// Senders that were replaced and have not finished.
    var retiring = RetiringSenders()
    let manual: ManualBarrier
    let backoff: BackoffBarrier
    /// Stands before it where its settings name a board (Behaviour A9).
    var activationGate: ActivationGate?
    let surroundings: Surroundings
    var queue: DispatcherQueue
    var limit: BatchLimit
    var retries = RetryPolicy()
    /// For how long its destination has been heard (Behaviour D9).
    var answerClock = AnswerClock()
    var tally = DispatcherTally()
    var held = HeldMarks()
    /// The newest event of the batches that were too large and go again in halves.
    var halvedThrough: SequenceNumber = 0
    /// What the last failed attempt failed of; nil after a success.
    var lastError: String?
    /// Whether its destination is on the other side of a network (Behaviour B20).
    var reachesNetwork = false
    /// Whether it was paused because the destination refused it (Behaviour D7).
    var isHeldByRefusal = false
    /// Set when the dispatcher takes no more batches (Behaviour D11).
    var isStopping = false
    /// What is on its way, by the numbers of the batches.
    var inFlight: [Int: Batch] = [:]
    private(set) var batchNumber = 0
    /// The purges under way.
    var purges: [QueuePurge] = []
    /// When something that waits in hand becomes too old, as of the last look; nil while nothing does.
    private(set) var nextExpiry: Instant?
    /// Whether the store has been asked for more.
    var isReading = false

    /// What a dispatcher shares with the others.
    struct Surroundings {
        let events: EventQueue
        let coordinator: BarrierCoordinator
        let flushes: Flushes
        let settlements: Settlements
        let depths: QueueDepths
        let board: CounterBoard
        /// A number from 0 to 1, by chance.
        let chance: () -> Double
        /// The kind of the machine's network connection, where it is known.
        let networkConnectionType: () -> String?
        /// Has a dispatcher look again at the end of the turn.
        let markDirty: (String) -> Void
        /// What is done with events just before they are sent (Behaviour P4).
        var transformations = Transformations()
        /// Runs the boards that stand before dispatchers.
        var boardActivator: () -> (any BoardActivator)? = { nil }

        var worker: any Worker { events.worker }
    }

    init(
        settings: DispatcherSettings, kind: String, sender: any Sender, manual: ManualBarrier,
        queue: DispatcherQueue, surroundings: Surroundings
    ) {
        self.settings = settings
        self.kind = kind
        self.sender = sender
        self.manual = manual
        self.queue = queue
        self.surroundings = surroundings
        backoff = BackoffBarrier(worker: surroundings.worker)
        limit = BatchLimit(min(settings.dispatchLimit, sender.format.mostEvents))
    }

    var id: String { settings.id }

    // MARK: What waits

    /// Events not settled, in flight or not.
    var unsettled: Tally { surroundings.events.backlog.unsettled(of: queue.number) }

    /// Events queued and not in flight.
    var pending: Int { max(0, unsettled.events - queue.inFlightCount) }

    /// Events that have not been read from the store.
    var unread: Int { max(0, unsettled.events - queue.count) }

    var batchesInFlight: Int { inFlight.count }

    // MARK: Taking and sending

    /// Sends what may be sent now, and tells how much waits.
    func evaluate() {
        freshen()
        while let builder = nextBatch() {
            send(builder)
            // Barriers that look at the depth have a say in every batch (Behaviour B22).
            publishDepth()
        }
        prepare(1)
        publishDepth()
        wantActivation()
        markHeld()
        endPurges()
        nextExpiry = soonestExpiry
    }

    /// Has the next event in hand, lets go of what is too old or purged, and tells how much waits.
    func freshen() {
        prepare(handful)
        while dropInHand() { prepare(handful) }
        publishDepth()
    }

    /// Up to which event may be sent now; nil when the way is closed. A flush opens it for what it covers (Behaviour F1).
    private var openThrough: SequenceNumber? {
        let way = surroundings.coordinator.way(to: id)
        if way.isOpen(flushing: false) { return .max }
        guard let target = surroundings.flushes.target(for: id), way.isOpen(flushing: true) else { return nil }
        return target
    }

    /// How many batches may be on their way at once (Behaviour Q2, K3).
    private var mostInFlight: Int { min(settings.inFlight, sender.capacity.batches) }

    /// About as many bytes are added to an event's stored JSON as it goes out.
    private static let expectedAddition = 128

    private func nextBatch() -> BatchBuilder? {
        let capacity = sender.capacity
        guard !isStopping, batchesInFlight < mostInFlight, pending > 0 else { return nil }
        guard openThrough != nil, prepareBatch(), let openThrough else { return nil }
        var builder = builder(upTo: min(limit.current, capacity.events))
        let chain = surroundings.transformations.chain(for: id)
        var annotations = annotations
        var dropped = SequenceSet()
        var last: QueueEntry?
        while builder.hasRoom, let entry = queue.nextCandidate(behind: last, through: openThrough),
            !isBehindHalves(entry, in: builder),
            add(
                entry, annotations.annotation(of: entry.sequenceNumber), transformedBy: chain, to: &builder,
                droppingTo: &dropped)
        { last = entry }
        settle(dropped, as: .transformedAway)
        // With nothing left of these, those behind them have their turn.
        if builder.isEmpty, !dropped.isEmpty { surroundings.markDirty(id) }
        return builder.isEmpty ? nil : builder
    }

    /// A batch in the making, with room for as many events as wait if all are as large as the first.
    private func builder(upTo most: Int) -> BatchBuilder {
        let size = (queue.firstWaiting?.event.byteCount ?? 0) + Dispatcher.expectedAddition
        return BatchBuilder(
            format: sender.format, mostEvents: most, byteLimit: settings.byteLimit, expecting: size * min(most, pending)
        )
    }

    /// Has a whole batch's events wait in hand, none of them too old (Behaviour D12) or purged.
    private func prepareBatch() -> Bool {
        var hasDropped = false
        repeat {
            guard prepare(limit.current * mostInFlight) else { return false }
            guard dropInHand() else { break }
            hasDropped = true
        } while true
        if hasDropped { publishDepth() }
        return true
    }

    private func send(_ builder: consuming BatchBuilder) {
        batchNumber += 1
        var batch = builder.batch(number: batchNumber)
        batch.output = activationGate?.output ?? [:]
        batch.sentAt = surroundings.worker.now
        queue.markInFlight(batch.sequenceNumbers)
        inFlight[batchNumber] = batch
        surroundings.depths.publishTaken(batch.events.count, of: id)
        let sender = ObjectIdentifier(sender)
        self.sender.send(batch) { [weak self, number = batchNumber, generation = activationGate?.generation] result in
            guard let self, let batch = self.inFlight.removeValue(forKey: number) else { return }
            self.surroundings.worker.preconditionOnWorker()
            self.retiring.finished(sender)
            self.finished(batch, sentUnder: generation, with: result)
            self.surroundings.markDirty(self.id)
        }
    }

    /// What events that were held say about it as they go out now.
    private var annotations: QueuedAnnotations {
        QueuedAnnotations(
            settings.annotateQueued ? held : HeldMarks(),
            networkConnectionType: surroundings.networkConnectionType())
    }

    // MARK: Telling

    /// Whether a part waits of a batch that was too large: that part needs no company (Behaviour D6).
    private var hasHalvesWaiting: Bool { queue.oldestWaiting <= halvedThrough }

    /// Whether an event would go along with the rest of a batch that was too large, of which it was no part.
    private func isBehindHalves(_ entry: QueueEntry, in builder: BatchBuilder) -> Bool {
        guard let first = builder.firstSequenceNumber else { return false }
        return first <= halvedThrough && entry.sequenceNumber > halvedThrough
    }

    private func publishDepth() {
        guard surroundings.depths.isWatched(id) else { return }
        let oldest = queue.firstWaiting.map { surroundings.events.ages.instant(of: $0.event.receivedStamp) }
        let depth = QueueDepth(pending: pending, oldestSince: oldest, dispatchLimit: hasHalvesWaiting ? 1 : limit.most)
        surroundings.depths.publish(depth, of: id)
    }

    /// Notes for which reasons all that waits is held now (Behaviour D13).
    private func markHeld() {
        held.forget(through: queue.position)
        held.tidy { queue.mayHold($0) }
        guard settings.annotateQueued, pending > 0, openThrough == nil else { return }
        let isFlushing = surroundings.flushes.target(for: id) != nil
        let words = surroundings.coordinator.blockers(of: id, flushing: isFlushing).map(\.word)
        let (oldest, newest) = (queue.oldestWaiting, surroundings.events.lastStored)
        guard oldest <= newest else { return }
        held.hold(words, oldest...newest)
    }
}
