import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

/// Runs a ``DeliveryMachine`` over plain values. It carries out the machine's orders by recording them, and keeps the
/// outcome of each event in plain dictionaries to compare with.
struct DeliveryRun {
    var machine: DeliveryMachine
    var shelf: Shelf
    /// Batches in flight, by number.
    var inFlight: [Int: Batch] = [:]
    var ended: [SequenceNumber: DeliveryOutcome] = [:]
    /// Failed attempts charged to each event.
    var charged: [SequenceNumber: Int] = [:]
    var deadLetters: [DeadLetter] = []
    var lost = 0
    var purged: [Purges.Number: Int] = [:]
    /// The opening of a board that batches are sent under, or nil if there is none.
    var opening: BoardOpening?
    var readsAtOnce = true
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private var failure: String?
    /// Events that the purges in progress may drop.
    private var purgeable: Set<SequenceNumber> = []

    /// The stored events, as the machine reads them.
    struct Shelf: EventSource {
        let chunk: Chunk
        let all: [StoredEvent]
        var lastStored: SequenceNumber
        var unsettled: Int
        var isInMemory = true

        /// Makes the first `count` events visible to the machine. All events are stored as one group.
        mutating func show(_ count: Int) {
            lastStored = SequenceNumber(count)
            unsettled = count
        }

        func unsettled(of dispatcher: DispatcherNumber) -> Tally {
            Tally(events: unsettled, bytes: all.prefix(unsettled).reduce(0) { $0 + $1.byteCount })
        }
        func isRoute(_ route: RouteNumber, to dispatcher: DispatcherNumber) -> Bool { true }
        func hasPassed(_ event: StoredEvent) -> Bool { false }
        var maxAge: Int64 { .max / 2 }

        func recentChunk(after sequenceNumber: SequenceNumber) -> Chunk? {
            isInMemory ? stored(behind: sequenceNumber) : nil
        }

        /// Returns the next event as a chunk of its own, so that the tests reach the end of a chunk often.
        func stored(behind sequenceNumber: SequenceNumber) -> Chunk? {
            all.first { $0.sequenceNumber > sequenceNumber && $0.sequenceNumber <= lastStored }
                .map { Chunk(bytes: $0.record, lastSequenceNumber: $0.sequenceNumber) }
        }
    }

    init(_ settings: DispatcherSettings, events count: Int) throws {
        let bench = GateBench([])
        let gate = bench.gate
        gate.addDispatcher(settings, kind: "recording", sender: RecordingSender(scheduler: bench.scheduler))
        _ = gate.pause(settings.id, reason: nil, isFlushable: false) { _ in }
        bench.track(count)
        let chunk = try #require(gate.events.recentChunk(after: 0))
        let all = Array(chunk)
        try #require(all.count == count)
        shelf = Shelf(chunk: chunk, all: all, lastStored: SequenceNumber(count), unsettled: count)
        machine = DeliveryMachine(
            settings: settings, mostEvents: settings.dispatchLimit,
            queue: DispatcherQueue(number: 1, settled: Settled(through: 0)))
    }

    func moment(chance: Double) -> DeliveryMoment {
        DeliveryMoment(now: now, wall: Timestamp(milliseconds: 1), chance: chance)
    }

    // MARK: Orders

    /// Runs an evaluation to its end.
    /// - Returns: All orders that it produced.
    mutating func evaluate(through newest: SequenceNumber?, capacity: SenderCapacity = SenderCapacity())
        -> [DeliveryOrder]
    {
        machine.beginEvaluation()
        var all: [DeliveryOrder] = []
        let conditions = DeliveryConditions(stamp: .min, openThrough: newest, capacity: capacity)
        while let orders = machine.step(conditions, from: shelf) { all += perform(orders) }
        for case .send(let batch) in all {
            expect(
                batch.events.allSatisfy { $0.sequenceNumber <= newest ?? 0 }, "sent although the dispatcher is blocked")
            expect(
                batch.events.count <= min(machine.settings.dispatchLimit, capacity.events), "too many events in a batch"
            )
        }
        expect(inFlight.count <= machine.settings.inFlight || all.allSatisfy { $0.name != "send" }, "too many batches")
        return all
    }

    @discardableResult
    mutating func answer(_ number: Int, _ result: SendResult, chance: Double = 1) -> [DeliveryOrder] {
        if let batch = inFlight.removeValue(forKey: number) { charge(batch, result) }
        return perform(machine.answered(number, result, at: moment(chance: chance)))
    }

    /// Carries out the orders.
    /// - Returns: The given orders, and the orders that resulted from them.
    private mutating func perform(_ orders: [DeliveryOrder]) -> [DeliveryOrder] {
        var all: [DeliveryOrder] = []
        for order in orders {
            all.append(order)
            switch order {
            case .settle(let events, let end): settle(events, end)
            case .countLost(let count):
                lost += count
                shelf.unsettled = machine.queue.count
            case .readStore(let position) where readsAtOnce:
                all += perform(machine.read(.success(shelf.stored(behind: position)), at: moment(chance: 1)))
            case .build(let room): all += build(room)
            case .send(let batch): send(batch)
            case .keep(let new, _): deadLetters += new
            case .endPurge(let number, let end): purged[number] = end.count
            default: break
            }
        }
        return all
    }

    private mutating func build(_ room: BatchRoom) -> [DeliveryOrder] {
        var builder = BatchBuilder(format: .jsonArray, mostEvents: room.most, byteLimit: machine.settings.byteLimit)
        var last: SequenceNumber?
        while let entry = machine.next(behind: last, for: builder, in: room), builder.add(entry, annotation: nil) {
            last = entry.sequenceNumber
        }
        return perform(machine.built(&builder, under: opening, at: now))
    }

    private mutating func send(_ batch: Batch) {
        let numbers = batch.events.map(\.sequenceNumber)
        let away = Set(inFlight.values.flatMap { $0.events.map(\.sequenceNumber) })
        expect(away.isDisjoint(with: numbers), "\(numbers) are already in flight")
        expect(numbers.allSatisfy { ended[$0] == nil }, "\(numbers) are sent although settled")
        expect(numbers == numbers.sorted(), "\(numbers) are out of order")
        for event in batch.events {
            expect(event.attempt == charged[event.sequenceNumber, default: 0] + 1, "attempt \(event.attempt)")
        }
        expect(!machine.isStopping, "sent after the stop")
        inFlight[batch.number] = batch
    }

    private mutating func settle(_ events: SequenceSet, _ end: DeliveryOutcome) {
        for number in events {
            expect(ended[number] == nil, "\(number) ends twice")
            expect(end != .purged || purgeable.contains(number), "\(number) was purged outside a purge")
            ended[number] = end
        }
        let released = machine.release(events)
        expect(released.count == events.count, "released \(released.count) of \(events.count)")
        shelf.unsettled -= released.count
        machine.settled(released.count, as: end, in: shelf)
    }

    // MARK: The model

    /// Applies the charging rules (Behaviour D9), to check that the machine dead-letters no event too early.
    private mutating func charge(_ batch: Batch, _ result: SendResult) {
        let isShared = if case .lost = result { batch.events.count > 1 } else { false }
        let most = isShared ? machine.settings.maxAttempts - 1 : .max
        for (index, event) in batch.events.enumerated() where Self.isCharged(result, index, of: batch) {
            let count = charged[event.sequenceNumber, default: 0]
            // The last allowed attempt is not charged to an event that was lost with others (Behaviour K3).
            if count < most { charged[event.sequenceNumber] = count + 1 }
        }
    }

    private static func isCharged(_ result: SendResult, _ index: Int, of batch: Batch) -> Bool {
        switch result {
        // The attempt after which an event is dead-lettered is always charged.
        case .refused(let refusal):
            refusal.isCharged || refusal.meaning == .never || refusal.meaning == .tooLarge && batch.events.count == 1
        case .lost: true
        case .each(let outcomes):
            switch outcomes[index] {
            case .retry(_, let isCharged): isCharged
            case .dead: true
            case .delivered, .duplicate: false
            }
        default: false
        }
    }

    /// Performs one random step.
    mutating func step(_ random: inout SeededRandom) throws {
        now = now + .milliseconds(Int.random(in: 0...500, using: &random))
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: store(Int.random(in: 1...6, using: &random))
        case 2, 3, 4:
            let newest = [nil, .max, .max, shelf.lastStored / 2].randomElement(using: &random) ?? nil
            let capacity = SenderCapacity(events: Int.random(in: 1...9, using: &random))
            _ = evaluate(through: newest, capacity: capacity)
        case 5, 6, 7:
            if let number = inFlight.keys.sorted().randomElement(using: &random) {
                answer(number, result(of: number, &random), chance: 0.5)
            }
        case 8: shelf.isInMemory = random.oneIn(2)
        default:
            guard random.oneIn(6) else { return }
            let away = inFlight.values.flatMap { $0.events.map(\.sequenceNumber) }
            purgeable.formUnion(Set(1...max(1, shelf.lastStored)).subtracting(away))
            _ = machine.purge(through: shelf.lastStored)
        }
    }

    private mutating func store(_ count: Int) {
        let (before, count) = (shelf.lastStored, min(count, shelf.all.count - Int(shelf.lastStored)))
        guard count > 0 else { return }
        shelf.lastStored += SequenceNumber(count)
        shelf.unsettled += count
        machine.stored(count, behind: before, in: shelf)
    }

    private func result(of number: Int, _ random: inout SeededRandom) -> SendResult {
        let results: [SendResult] = [
            .delivered, .status(503), .status(400), .status(413), .noAnswer(cause: "reset"), .interrupted,
            .lost(cause: "went away"), .lost(cause: "went away"), .status(500), .unsendable(cause: "too long"),
            .each(
                (inFlight[number]?.events ?? []).map { _ in
                    let outcomes: [EventOutcome] = [
                        .delivered, .retry(cause: "busy", charged: true), .retry(cause: "reset", charged: false),
                        .dead(.refused, cause: "never"),
                    ]
                    return outcomes.randomElement(using: &random) ?? .delivered
                }),
        ]
        return results.randomElement(using: &random) ?? .delivered
    }

    /// Checks what must hold after each step.
    func check() throws {
        if let failure { throw ModelFailure(failure) }
        let counters = machine.counters
        try #require(counters[.sent] == ended.values.count { $0 == .delivered })
        try #require(counters[.dead] == deadLetters.count && counters[.dead] == ended.values.count { $0 == .dead })
        try #require(counters[.purged] == ended.values.count { $0 == .purged })
        try #require(machine.flights.count == inFlight.count)
        let stored = Int(shelf.lastStored)
        try #require(shelf.unsettled == stored - ended.count)
        let away = inFlight.values.reduce(0) { $0 + $1.events.count }
        try #require(machine.pending(in: shelf) == stored - ended.count - away)
        for deadLetter in deadLetters {
            try #require(deadLetter.attempts == charged[deadLetter.sequenceNumber, default: 0])
        }
        let most = machine.settings.maxAttempts
        try #require(charged.allSatisfy { ended[$0.key] != nil || $0.value < most })
        // The machine reports only events as settled that have ended.
        let settled = machine.queue.settled
        for number in 1...SequenceNumber(shelf.all.count) where settled.contains(number) {
            try #require(ended[number] != nil, "\(number) is reported as settled before it ended")
        }
    }

    /// Stores all events, opens the dispatcher, and delivers until nothing is left.
    mutating func finish() throws {
        store(shelf.all.count)
        shelf.isInMemory = true
        for _ in 0..<500 where shelf.unsettled > 0 {
            _ = evaluate(through: .max)
            for number in inFlight.keys.sorted() { answer(number, .delivered) }
            try check()
        }
        _ = evaluate(through: .max)
        try check()
    }

    private mutating func expect(_ isRight: Bool, _ message: @autoclosure () -> String) {
        if !isRight, failure == nil { failure = message() }
    }
}

extension DeliveryOrder {
    /// The case name of the order, without associated values.
    var name: String { String("\(self)".prefix { $0.isLetter }) }
}
