import HeadgateData

/// Rewinds dispatchers (Behaviour R2, R3), one rewind of a dispatcher at a time.
///
/// A dispatcher first finishes what is in flight, and its settlements are written. Then the store makes events
/// unsettled again and counts them, while nothing settles an event of the dispatcher. At last the dispatcher gets a new
/// queue.
final class Rewinds {
    private let events: EventQueue
    private let dispatchers: Dispatchers
    private let settlements: Settlements
    /// Rewinds that wait for an earlier one of their dispatcher.
    private var waiting: [String: [Rewind]] = [:]

    /// A requested rewind.
    private struct Rewind {
        let id: String
        let target: RewindTarget
        let then: (Result<RewindAnswer, RewindRefusal>) -> Void
    }

    init(events: EventQueue, dispatchers: Dispatchers, settlements: Settlements) {
        (self.events, self.dispatchers, self.settlements) = (events, dispatchers, settlements)
    }

    /// Rewinds a dispatcher. `then` is called later.
    func rewind(
        _ id: String, to target: RewindTarget, then: @escaping (Result<RewindAnswer, RewindRefusal>) -> Void
    ) {
        let rewind = Rewind(id: id, target: target, then: then)
        guard events.store.canRewind else { return refuse(rewind, .unsupported(store: events.store.kind)) }
        // Accepted events that are being stored are part of the queue.
        events.whenCommitted { [weak self] _ in self?.begin(rewind) }
    }

    private func begin(_ rewind: Rewind) {
        guard let dispatcher = dispatchers[rewind.id] else { return refuse(rewind, .dispatcherRemoved) }
        guard !dispatcher.isRewinding else { return waiting[rewind.id, default: []].append(rewind) }
        if let refusal = refusal(of: rewind.target) { return refuse(rewind, refusal) }
        dispatcher.beginRewind { [weak self] isQuiet in
            guard isQuiet else { return rewind.then(.failure(.dispatcherRemoved)) }
            self?.settlements.whenWritten { self?.written($0, rewind, dispatcher) }
        }
    }

    /// Returns the reason why a place cannot be rewound to whatever the store keeps, or nil if there is none.
    private func refusal(of target: RewindTarget) -> RewindRefusal? {
        switch target {
        case .sequenceNumber(let number): number > events.lastStored ? .future : nil
        case .time(let time): time > events.scheduler.wall ? .future : nil
        case .back(let duration): duration < .zero ? .future : nil
        }
    }

    private func place(of target: RewindTarget) -> RewindRequest.Place {
        let now = events.presentStamp()
        switch target {
        case .sequenceNumber(let number): return .sequenceNumber(number)
        case .time(let time): return .receipt(now - (events.scheduler.wall.milliseconds - time.milliseconds))
        case .back(let duration): return .receipt(now - duration.wholeMilliseconds)
        }
    }

    /// Asks the store, which knows all settlements of the dispatcher by now.
    private func written(_ fault: StoreFault?, _ rewind: Rewind, _ dispatcher: Dispatcher) {
        guard fault == nil else { return end(rewind, dispatcher, .store) }
        let (number, settled, stamp) = (dispatcher.number, dispatcher.queue.settled, events.presentStamp())
        let replay = Replay.next(after: dispatchers.known.replays[number], of: settled, at: stamp)
        let request = RewindRequest(number, to: place(of: rewind.target)) { first in
            (Replay.name(of: number), replay.beginning(at: first).kept)
        }
        events.store.rewind(request) { [weak self] result in
            self?.answered(result, replay, rewind, dispatcher)
        }
    }

    private func answered(
        _ result: Result<RewindOutcome, StoreFault>, _ replay: Replay, _ rewind: Rewind, _ dispatcher: Dispatcher
    ) {
        switch result {
        case .failure: end(rewind, dispatcher, .store)
        case .success(.notRetained(let oldest)): end(rewind, dispatcher, .notRetained(oldest.map(place)))
        case .success(.rewound(let queue)): apply(queue, replay.beginning(at: queue.first), rewind, dispatcher)
        }
    }

    private func apply(_ queue: RewoundQueue, _ replay: Replay, _ rewind: Rewind, _ dispatcher: Dispatcher) {
        guard dispatchers.there(rewind.id) === dispatcher else { return refuse(rewind, .dispatcherRemoved) }
        let (number, before) = (dispatcher.number, dispatcher.unsettled.events)
        events.backlog.rewind(queue.unsettled, of: number)
        settlements.rewound(number, to: queue.settled.position)
        dispatchers.known.setReplay(replay, of: number)
        dispatchers.known.setSettled(queue.settled, of: rewind.id)
        let older = EventCount(queue.unsettled.total.events, through: events.lastStored)
        dispatcher.rewound(
            to: DispatcherQueue(
                number: number, settled: queue.settled, older: older, replay: replay, sweptAfter: events.lastStored))
        rewind.then(
            .success(
                RewindAnswer(
                    firstSequenceNumber: queue.first, events: max(0, queue.unsettled.total.events - before),
                    isComplete: queue.isComplete)))
        beginNext(rewind.id)
    }

    /// Returns a place with its time by the wall clock.
    private func place(_ kept: KeptPlace) -> RewindRefusal.Place {
        let ago = events.presentStamp() - kept.receivedStamp
        return RewindRefusal.Place(
            sequenceNumber: kept.sequenceNumber,
            time: Timestamp(milliseconds: events.scheduler.wall.milliseconds - ago))
    }

    private func end(_ rewind: Rewind, _ dispatcher: Dispatcher, _ refusal: RewindRefusal) {
        dispatcher.endRewind()
        rewind.then(.failure(refusal))
        beginNext(rewind.id)
    }

    private func beginNext(_ id: String) {
        guard let next = waiting[id]?.first else { return }
        waiting[id]?.removeFirst()
        begin(next)
    }

    private func refuse(_ rewind: Rewind, _ refusal: RewindRefusal) {
        events.scheduler.soon { rewind.then(.failure(refusal)) }
        if case .dispatcherRemoved = refusal { beginNext(rewind.id) }
    }
}

/// The result of a rewind.
public struct RewindAnswer: Sendable, Equatable {
    /// The first event that is pending again.
    public var firstSequenceNumber: SequenceNumber
    /// The number of events that were settled and are pending again.
    public var events: Int
    /// False if nothing is retained, so that some events may be missing (Behaviour R5).
    public var isComplete: Bool
}

/// The reason why a dispatcher was not rewound (Behaviour R3).
public enum RewindRefusal: Error, Equatable, Sendable {
    /// The event store cannot rewind.
    case unsupported(store: String)
    /// The place lies in the future.
    case future
    /// Events from the place on are no longer kept. The value is the oldest place that can be rewound to; nil if
    /// there is none.
    case notRetained(Place?)
    /// The dispatcher was removed meanwhile.
    case dispatcherRemoved
    /// The store failed.
    case store

    /// An event, and the wall-clock time of its receipt.
    public struct Place: Equatable, Sendable {
        public var sequenceNumber: SequenceNumber
        public var time: Timestamp
    }
}
