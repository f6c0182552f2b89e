import HeadgateData

/// The rewinds of dispatchers, one at a time for each dispatcher (Behaviour R2, R3).
///
/// A dry run only counts the events. Otherwise a dispatcher first finishes its batches in flight, and its settlements
/// are written. Then the store makes events unsettled again and counts them, while nothing settles an event of the
/// dispatcher. Finally the dispatcher gets a new queue. A new dispatcher that starts at an earlier event is moved there
/// in the same way (Behaviour R4).
final class Rewinds {
    private let events: EventQueue
    private let dispatchers: Dispatchers
    private let settlements: Settlements
    /// The number of rewinds and starts that were made.
    private(set) var count = 0
    /// Rewinds that wait for an earlier one of their dispatcher.
    private var waiting: [String: [Rewind]] = [:]
    /// The subject that emits the start of each dispatcher that was moved to an earlier event (Behaviour R4).
    let starts = PulseSubject<DispatcherStarted>()

    private static let pauseAfterFault = Duration.seconds(1)

    /// A requested rewind.
    private struct Rewind {
        let id: String
        let target: RewindTarget
        let isDryRun: Bool
        let then: (Result<RewindAnswer, RewindRefusal>) -> Void
    }

    init(events: EventQueue, dispatchers: Dispatchers, settlements: Settlements) {
        (self.events, self.dispatchers, self.settlements) = (events, dispatchers, settlements)
    }

    /// Rewinds a dispatcher, or only counts the events. `then` is called later.
    func rewind(
        _ id: String, to target: RewindTarget, isDryRun: Bool,
        then: @escaping (Result<RewindAnswer, RewindRefusal>) -> Void
    ) {
        let rewind = Rewind(id: id, target: target, isDryRun: isDryRun, then: then)
        guard events.store.canRewind else { return refuse(rewind, .unsupported(store: events.store.kind)) }
        // Accepted events that are being stored are part of the queue.
        events.whenCommitted { [weak self] _ in self?.begin(rewind) }
    }

    private func begin(_ rewind: Rewind) {
        guard let dispatcher = dispatchers[rewind.id] else { return refuse(rewind, .dispatcherRemoved) }
        guard !dispatcher.isRewinding || rewind.isDryRun else { return waiting[rewind.id, default: []].append(rewind) }
        if let refusal = refusal(of: rewind.target) { return refuse(rewind, refusal) }
        guard !rewind.isDryRun else {
            return settlements.whenWritten { [weak self] in self?.written($0, rewind, dispatcher) }
        }
        dispatcher.beginRewind { [weak self] isQuiet in
            guard isQuiet else { return rewind.then(.failure(.dispatcherRemoved)) }
            dispatcher.freeze()
            self?.settlements.whenWritten { self?.written($0, rewind, dispatcher) }
        }
    }

    /// Returns the reason why no dispatcher can be rewound to a start, whatever the store keeps, or nil if there is none.
    private func refusal(of target: RewindTarget) -> RewindRefusal? {
        switch target {
        case .sequenceNumber(let number): number > events.lastStored ? .future : nil
        case .time(let time): time > events.scheduler.wall ? .future : nil
        case .back(let duration): duration < .zero ? .future : nil
        }
    }

    /// Requests a rewind from the store, after the dispatcher's settlements are written.
    private func written(_ fault: StoreFault?, _ rewind: Rewind, _ dispatcher: Dispatcher) {
        guard fault == nil else { return end(rewind, dispatcher, .store) }
        let (number, replay) = (dispatcher.number, nextReplay(of: dispatcher))
        let request = RewindRequest(number, to: rewind.target.start(in: events), isDryRun: rewind.isDryRun) { first in
            [Replay.name(of: number): replay.beginning(at: first).kept]
        }
        events.store.rewind(request) { [weak self] result in
            self?.answered(result, replay, rewind, dispatcher)
        }
    }

    private func nextReplay(of dispatcher: Dispatcher) -> Replay {
        Replay.next(
            after: dispatchers.known.replays[dispatcher.number], of: dispatcher.queue.settled,
            at: events.presentStamp())
    }

    private func answered(
        _ result: Result<RewindOutcome, StoreFault>, _ replay: Replay, _ rewind: Rewind, _ dispatcher: Dispatcher
    ) {
        switch result {
        case .failure:
            // A failed write may be found on the disk later. Writing the settlements again reverts the rewind.
            if !rewind.isDryRun { dispatcher.writeSettled() }
            end(rewind, dispatcher, .store)
        case .success(.notRetained(let oldest)): end(rewind, dispatcher, .notRetained(oldest.map(start)))
        case .success(.rewound(let queue)): apply(queue, replay.beginning(at: queue.first), rewind, dispatcher)
        }
    }

    private func apply(_ queue: RewoundQueue, _ replay: Replay, _ rewind: Rewind, _ dispatcher: Dispatcher) {
        guard dispatchers.there(rewind.id) === dispatcher else { return refuse(rewind, .dispatcherRemoved) }
        let before = dispatcher.unsettled.events
        let answer = RewindAnswer(
            firstSequenceNumber: queue.first, events: max(0, queue.unsettled.total.events - before),
            isComplete: queue.isComplete, received: queue.receipts.map { time($0.lowerBound)...time($0.upperBound) })
        guard !rewind.isDryRun else { return rewind.then(.success(answer)) }
        move(dispatcher, to: queue, replay, isStart: false)
        rewind.then(.success(answer))
        beginNext(rewind.id)
    }

    /// Gives a dispatcher the queue that the store returned, and lets it continue.
    private func move(_ dispatcher: Dispatcher, to queue: RewoundQueue, _ replay: Replay, isStart: Bool) {
        let number = dispatcher.number
        count += 1
        // Events that the store no longer has may be in memory, and are not in its count.
        events.forgetRecent()
        events.backlog.rewind(queue.unsettled, of: number)
        settlements.rewound(number, to: queue.settled.position)
        dispatchers.known.setReplay(replay, of: number)
        dispatchers.known.setSettled(queue.settled, of: dispatcher.id)
        let older = EventCount(queue.unsettled.total.events, through: events.lastStored)
        dispatcher.rewound(
            to: DispatcherQueue(
                number: number, settled: queue.settled, older: older, replay: replay, sweptAfter: events.lastStored,
                judgedThrough: dispatchers.known.starts[number]?.judgedThrough ?? 0), isStart: isStart)
    }

    /// Returns the oldest kept event with the time of its receipt by the wall clock.
    private func start(_ kept: KeptEvent) -> RewindRefusal.KeptEvent {
        RewindRefusal.KeptEvent(sequenceNumber: kept.sequenceNumber, time: time(kept.receivedStamp))
    }

    /// Returns the wall-clock time of a time on the age scale.
    private func time(_ stamp: Int64) -> Timestamp {
        Timestamp(milliseconds: events.scheduler.wall.milliseconds - (events.presentStamp() - stamp))
    }

    private func end(_ rewind: Rewind, _ dispatcher: Dispatcher, _ refusal: RewindRefusal) {
        guard !rewind.isDryRun else { return rewind.then(.failure(refusal)) }
        dispatcher.endRewind()
        rewind.then(.failure(refusal))
        beginNext(rewind.id)
    }

    /// Begins the next rewind of a dispatcher.
    func beginNext(_ id: String) {
        guard let next = waiting[id]?.first else { return }
        waiting[id]?.removeFirst()
        begin(next)
    }

    /// Refuses the rewinds that wait for an earlier one of a removed dispatcher.
    func dispatcherRemoved(_ id: String) {
        for rewind in waiting.removeValue(forKey: id) ?? [] { refuse(rewind, .dispatcherRemoved) }
    }

    private func refuse(_ rewind: Rewind, _ refusal: RewindRefusal) {
        events.scheduler.soon { rewind.then(.failure(refusal)) }
    }
}

// MARK: - Starts of new dispatchers

extension Rewinds {
    /// Moves a new dispatcher to the earlier event at which it starts, unless it was moved already (Behaviour R4). The
    /// dispatcher sends nothing before. From now on the routes of all older events include it.
    func start(_ dispatcher: Dispatcher) {
        guard var start = dispatchers.known.starts[dispatcher.number], !start.isDone, !dispatcher.isRewinding else {
            return
        }
        events.routes.join(dispatcher.number)
        // After a kill, events without the dispatcher may have been stored meanwhile.
        start.judgedThrough = events.lastSequenceNumber
        dispatchers.known.begin(start, of: dispatcher.number)
        dispatcher.beginRewind { [weak self] isQuiet in
            guard isQuiet else { return }
            dispatcher.freeze()
            self?.ask(for: dispatcher, at: start.start)
        }
    }

    private func ask(for dispatcher: Dispatcher, at start: RewindRequest.Start) {
        events.whenCommitted { [weak self] _ in
            self?.settlements.whenWritten { self?.settled($0, dispatcher, at: start) }
        }
    }

    /// Requests the move to the start from the store, after the dispatcher itself is stored.
    private func settled(_ fault: StoreFault?, _ dispatcher: Dispatcher, at start: RewindRequest.Start) {
        guard dispatchers.there(dispatcher.id) === dispatcher else { return }
        guard fault == nil, var early = dispatchers.known.starts[dispatcher.number] else {
            return askLater(for: dispatcher, at: start)
        }
        early.isDone = true
        let (number, replay, done) = (dispatcher.number, nextReplay(of: dispatcher), early.kept)
        let request = RewindRequest(number, to: start, routes: events.routes.sets(with: number)) { first in
            [Replay.name(of: number): replay.beginning(at: first).kept, EarlyStart.name(of: number): done]
        }
        events.store.rewind(request) { [weak self] result in
            self?.startAnswered(result, replay, dispatcher, at: start)
        }
    }

    private func startAnswered(
        _ result: Result<RewindOutcome, StoreFault>, _ replay: Replay, _ dispatcher: Dispatcher,
        at start: RewindRequest.Start
    ) {
        guard dispatchers.there(dispatcher.id) === dispatcher else { return }
        switch result {
        case .failure: askLater(for: dispatcher, at: start)
        case .success(.notRetained(let oldest?)): ask(for: dispatcher, at: .sequenceNumber(oldest.sequenceNumber))
        case .success(.notRetained(nil)): startAtNewest(dispatcher)
        case .success(.rewound(let queue)):
            dispatchers.known.endStart(of: dispatcher.number)
            move(dispatcher, to: queue, replay.beginning(at: queue.first), isStart: true)
            starts.send(
                DispatcherStarted(
                    id: dispatcher.id, firstSequenceNumber: queue.first, events: queue.unsettled.total.events))
            beginNext(dispatcher.id)
        }
    }

    private func askLater(for dispatcher: Dispatcher, at start: RewindRequest.Start) {
        let scheduler = events.scheduler
        _ = scheduler.schedule(at: scheduler.now + Rewinds.pauseAfterFault) { [weak self] in
            self?.ask(for: dispatcher, at: start)
        }
    }

    /// Starts a dispatcher at its present position, because the store has no older event. The store records this before
    /// the dispatcher sends anything.
    private func startAtNewest(_ dispatcher: Dispatcher) {
        guard var start = dispatchers.known.starts[dispatcher.number] else { return }
        start.isDone = true
        dispatchers.known.begin(start, of: dispatcher.number)
        dispatchers.known.endStart(of: dispatcher.number)
        settlements.whenWritten { [weak self] fault in
            guard let self, dispatchers.there(dispatcher.id) === dispatcher else { return }
            dispatcher.endRewind()
            beginNext(dispatcher.id)
        }
    }
}

extension RewindTarget {
    /// Returns the start as the store needs it: a sequence number, or a time of receipt on the age scale.
    func start(in events: EventQueue) -> RewindRequest.Start {
        let now = events.presentStamp()
        switch self {
        case .sequenceNumber(let number): return .sequenceNumber(number)
        case .time(let time): return .receipt(now - (events.scheduler.wall.milliseconds - time.milliseconds))
        case .back(let duration): return .receipt(now - duration.wholeMilliseconds)
        }
    }
}

/// A new dispatcher was moved to the earlier event at which it starts (Behaviour R4).
public struct DispatcherStarted: Sendable, Equatable {
    public var id: String
    /// The first event that it may get.
    public var firstSequenceNumber: SequenceNumber
    /// The number of its pending events. Its load rule may refuse some of them.
    public var events: Int
}

/// The result of a rewind, or of its dry run.
public struct RewindAnswer: Sendable, Equatable {
    /// The first event that is pending again.
    public var firstSequenceNumber: SequenceNumber
    /// The number of events that were settled and are pending again.
    public var events: Int
    /// False if nothing is retained, so that some events may be missing (Behaviour R5).
    public var isComplete: Bool
    /// The times at which the first and the last stored event from the start on were received, by the wall clock; nil if
    /// there are none.
    public var received: ClosedRange<Timestamp>?
}

/// The reason why a dispatcher was not rewound (Behaviour R3).
public enum RewindRefusal: Error, Equatable, Sendable {
    /// The event store cannot rewind.
    case unsupported(store: String)
    /// The start lies in the future.
    case future
    /// Events from the start on are no longer kept. The value is the oldest event that can be rewound to; nil if
    /// there is none.
    case notRetained(KeptEvent?)
    /// The dispatcher was removed meanwhile.
    case dispatcherRemoved
    /// The store failed.
    case store

    /// An event, and the wall-clock time of its receipt.
    public struct KeptEvent: Equatable, Sendable {
        public var sequenceNumber: SequenceNumber
        public var time: Timestamp
    }
}
