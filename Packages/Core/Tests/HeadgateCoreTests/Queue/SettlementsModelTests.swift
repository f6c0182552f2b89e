import HeadgateCoreTesting
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateCore

/// Tests of dispatchers that settle events, some as dead letters, in a store whose free space varies. The store records
/// an event as settled only after it has ended, and a dead one only with its dead letter (decision 52).
@Suite("Settlements in a store with little room")
struct SettlementsModelTests {
    @Test(
        "Q8, D10: with little room no dead event is settled without its dead letter, and with room everything is written",
        arguments: Seeds.first(60))
    func anyHistory(seed: Seed) {
        let history = History(seed)
        for _ in 0..<200 { history.step() }
        history.end()
    }

    @Test("Q8, D10: without room for a dead letter other settlements are written")
    func wordsFirst() {
        let history = History(Seed(1))
        history.store.room = 100
        history.settle(1, through: 9, dead: [4])
        for number in [2, 3] as [DispatcherNumber] { history.settle(number, through: 9, dead: []) }
        history.scheduler.advance(by: .seconds(2))
        #expect(history.store.settled[1] == Settled(through: 3, and: [5...9]))
        #expect(history.store.settled[2] == Settled(through: 9))
        #expect(history.store.trimmed == 3)
        history.store.room = 1_000
        history.scheduler.advance(by: .seconds(2))
        #expect(history.store.settled[1] == Settled(through: 9) && history.store.trimmed == 9)
        #expect(history.store.deadLetters == [DeadLetterName(dispatcher: 1, number: 4)])
    }

    @Test("Q8: settlements already written are not written repeatedly while dead letters wait")
    func saidOnce() {
        let history = History(Seed(1))
        history.store.room = 100
        history.settle(1, through: 9, dead: [4])
        history.scheduler.advance(by: .seconds(60))
        #expect(history.store.writes == 1)
    }

    @Test("Q8: if there are more gaps than one settlement can list, later settlements wait")
    func manyHoles() {
        let history = History(Seed(1))
        history.store.room = 100
        history.settle(1, through: 500, dead: Array(stride(from: 2, through: 400, by: 2)))
        history.scheduler.advance(by: .seconds(2))
        #expect(history.store.settled[1]?.ranges.last == 129...129)
        history.store.room = .max
        history.scheduler.advance(by: .seconds(20))
        #expect(history.store.settled[1] == Settled(through: 500) && history.store.deadLetters.count == 200)
    }
}

private struct DeadLetterName: Hashable {
    var dispatcher: DispatcherNumber
    var number: SequenceNumber
}

/// A store with limited space: a dead letter takes 200 bytes, any other change 10.
private final class TightStore: EventStore {
    let kind = "tight"
    /// The bytes that a write may take.
    var room = Int.max
    private(set) var settled: [DispatcherNumber: Settled] = [:]
    private(set) var deadLetters: Set<DeadLetterName> = []
    private(set) var trimmed: SequenceNumber = 0
    private(set) var kept: [String: [UInt8]] = [:]
    private(set) var writes = 0
    private let scheduler: ManualScheduler

    init(_ scheduler: ManualScheduler) { self.scheduler = scheduler }

    func open() -> StoredState { StoredState() }
    func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {}
    func read(after: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {}
    func readDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void) {
    }
    func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {}
    func close(then: @escaping () -> Void) {}

    func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
        let size = changes.reduce(0) { if case .deadLetter = $1 { $0 + 200 } else { $0 + 10 } }
        let fits = size <= room
        if fits {
            changes.forEach(apply)
            writes += 1
        }
        scheduler.soon { then(fits ? nil : .noRoom("full")) }
    }

    private func apply(_ change: StoreChange) {
        switch change {
        case .settled(let number, let all): settled[number] = all
        case .deadLetter(let deadLetter):
            deadLetters.insert(DeadLetterName(dispatcher: deadLetter.dispatcher, number: deadLetter.sequenceNumber))
        case .trim(let through): trimmed = through
        case .retain: break
        case .keep(let name, let value): kept[name] = value
        default: break
        }
    }
}

private final class History: GateHost {
    let scheduler = ManualScheduler()
    let store: TightStore
    private let settlements: Settlements
    private let seed: Seed
    private var random: SeededRandom
    /// The expected state: how far each dispatcher has settled, and its dead letters.
    private var positions: [DispatcherNumber: SequenceNumber] = [1: 0, 2: 0, 3: 0]
    private var dead: Set<DeadLetterName> = []
    private var kept = 0
    private var (requested, answered) = (0, 0)

    init(_ seed: Seed) {
        (self.seed, random) = (seed, SeededRandom(seed: seed))
        store = TightStore(scheduler)
        settlements = Settlements(scheduler: scheduler, store: store)
        settlements.host = self
    }

    func step() {
        switch Int.random(in: 0...9, using: &random) {
        case 0...4:
            let number = DispatcherNumber(Int.random(in: 1...3, using: &random))
            let from = positions[number] ?? 0
            let end = from + SequenceNumber(Int.random(in: 1...20, using: &random))
            settle(number, through: end, dead: (from + 1...end).filter { _ in random.oneIn(6) })
        case 5:
            kept += 1
            settlements.add(.keep("a", [UInt8(kept % 256)]))
        case 6: ask()
        case 7: store.room = [0, 25, 60, 230, 500, .max].randomElement(using: &random) ?? 0
        default: scheduler.advance(by: .milliseconds(Int.random(in: 1...1_500, using: &random)))
        }
        if random.oneIn(2) { scheduler.settle() }
        check()
    }

    func settle(_ number: DispatcherNumber, through end: SequenceNumber, dead numbers: [SequenceNumber]) {
        for event in numbers {
            dead.insert(DeadLetterName(dispatcher: number, number: event))
            let moment = Timestamp(milliseconds: 0)
            settlements.add(
                .deadLetter(
                    DeadLetter(
                        dispatcher: number, sequenceNumber: event, reason: .refused, status: nil, answer: nil,
                        attempts: 1, firstFailedAt: moment, diedAt: moment, record: [])))
        }
        positions[number] = end
        settlements.settled(number) { [unowned self] in Settled(through: positions[number] ?? 0) }
    }

    /// Requests a notification for when all changes so far are written.
    private func ask() {
        requested += 1
        let (value, deadLetters) = (kept, dead)
        settlements.whenWritten { [unowned self] fault in
            answered += 1
            guard fault == nil else { return }
            #expect(value == 0 || store.kept["a"] != nil, "\(seed)")
            #expect(deadLetters.isSubset(of: store.deadLetters), "\(seed)")
        }
    }

    private func check() {
        for (number, all) in store.settled {
            #expect((all.ranges.last?.upperBound ?? all.position) <= positions[number] ?? 0, "\(seed)")
            let lost = dead.subtracting(store.deadLetters).filter { $0.dispatcher == number && all.contains($0.number) }
            #expect(lost.isEmpty, "\(lost) are settled without a dead letter, \(seed)")
        }
        let unsafe = dead.subtracting(store.deadLetters).map(\.number).min() ?? .max
        #expect(store.trimmed < unsafe, "trimmed through \(store.trimmed), from \(unsafe) events are needed, \(seed)")
    }

    func end() {
        store.room = .max
        scheduler.advance(by: .seconds(60))
        #expect(store.deadLetters == dead, "\(seed)")
        for (number, position) in positions where position > 0 {
            #expect(store.settled[number] == Settled(through: position), "\(seed)")
        }
        #expect(store.trimmed == positions.values.min(), "\(seed)")
        #expect(kept == 0 || store.kept["a"] == [UInt8(kept % 256)], "\(seed)")
        #expect(answered == requested && settlements.isIdle, "\(seed)")
    }

    // MARK: GateHost

    let networkConnectionType: String? = nil
    let boardActivator: (any BoardActivator)? = nil

    func trimPoint() -> SequenceNumber { positions.values.min() ?? 0 }
    func forgetUnusedRoutes() -> [RouteNumber] { [] }
    func turnEnded(toEvaluate dispatchers: [any EvaluatedDispatcher]) {}
    func dispatcher(_ id: String) -> (any EvaluatedDispatcher)? { nil }
    func changed(_ change: GateChange) {}
    func barrierFailed(_ failure: BarrierFailure) {}
    func stored(_ tallies: RouteTallies, behind previous: SequenceNumber) {}
}
