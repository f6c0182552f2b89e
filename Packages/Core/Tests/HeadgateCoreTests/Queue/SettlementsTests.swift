import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Settlements")
struct SettlementsTests {
    let scheduler = ManualScheduler()
    let store: WrittenStore
    let settlements: Settlements

    init() {
        store = WrittenStore(scheduler: scheduler)
        settlements = Settlements(scheduler: scheduler, store: store)
    }

    /// Records the changes that are written.
    final class WrittenStore: EventStore {
        let kind = "written"
        var fault: StoreFault?
        var writes: [[StoreChange]] = []
        /// The number of write attempts.
        var attempts = 0
        /// Called while a write is in progress.
        var whileWriting: () -> Void = {}
        private let scheduler: ManualScheduler

        init(scheduler: ManualScheduler) { self.scheduler = scheduler }

        func open() -> StoredState { StoredState() }
        func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {}
        func read(after: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {}
        func readDeadLetters(
            _ query: DeadLetterQuery, then: @escaping (Result<StoredDeadLetterPage, StoreFault>) -> Void
        ) {}
        func purgeDeadLetters(_ query: DeadLetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {}
        func close(then: @escaping () -> Void) {}

        func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
            let fault = fault
            attempts += 1
            if fault == nil { writes.append(changes) }
            scheduler.soon { [self] in
                whileWriting()
                then(fault)
            }
        }
    }

    /// A gate that reports its unused routes on the first request only.
    private final class ForgettingHost: GateHost {
        var routes: [RouteNumber] = []
        var needed: SequenceNumber = 0
        let networkConnectionType: String? = nil
        let boardActivator: (any BoardActivator)? = nil

        func trimPoint() -> SequenceNumber { needed }

        func forgetUnusedRoutes() -> [RouteNumber] {
            defer { routes = [] }
            return routes
        }

        func turnEnded(toEvaluate dispatchers: [any EvaluatedDispatcher]) {}
        func dispatcher(_ id: String) -> (any EvaluatedDispatcher)? { nil }
        func changed(_ change: GateChange) {}
        func barrierFailed(_ failure: BarrierFailure) {}
        func stored(_ tallies: RouteTallies, behind previous: SequenceNumber) {}
    }

    private func deadLetter(_ number: SequenceNumber) -> StoreChange {
        let moment = Timestamp(milliseconds: 0)
        return .deadLetter(
            DeadLetter(
                dispatcher: 1, sequenceNumber: number, reason: .refused, status: nil, answer: nil, attempts: 1,
                firstFailedAt: moment, diedAt: moment, record: []))
    }

    @Test("Q6: the settlements of a turn are one write with the last state of each dispatcher")
    func oneWrite() {
        settlements.settled(1) { Settled(through: 3) }
        settlements.settled(1) { Settled(through: 7) }
        settlements.add(.keep("a", [1]))
        scheduler.settle()
        #expect(store.writes == [[.keep("a", [1]), .settled(1, Settled(through: 7))]])
    }

    @Test("Q8: a failed write is repeated later, in order, together with newer changes")
    func writtenLater() throws {
        store.fault = .noRoom("full")
        settlements.add(.keep("a", [1]))
        settlements.settled(1) { Settled(through: 3) }
        settlements.settled(2) { Settled(through: 9) }
        scheduler.settle()
        settlements.add(.keep("a", nil))
        settlements.settled(1) { Settled(through: 4) }
        store.fault = nil
        scheduler.settle()
        #expect(store.writes.isEmpty)
        scheduler.advance(by: .seconds(1))
        let written = try #require(store.writes.first)
        #expect(written.first == .keep("a", [1]) && written.dropFirst().first == .keep("a", nil))
        #expect(
            written.contains(.settled(1, Settled(through: 4))) && written.contains(.settled(2, Settled(through: 9))))
        #expect(written.count == 4 && store.writes.count == 1)
    }

    @Test("R2: settlements from before a rewind are not written after it")
    func rewound() {
        store.fault = .failed("broken")
        settlements.settled(1) { Settled(through: 9) }
        settlements.settled(2) { Settled(through: 4) }
        scheduler.settle()
        store.fault = nil
        settlements.rewound(1, to: 3)
        scheduler.advance(by: .seconds(1))
        #expect(store.writes == [[.settled(2, Settled(through: 4))]])
    }

    @Test("Q8: changes made during a failed write keep precedence over its contents")
    func newerWins() throws {
        store.fault = .noRoom("full")
        let (old, new) = (Settled(through: 3), Settled(through: 5))
        let older = StoredDispatcher(number: 1, id: "collect", settled: old, orphanedSince: 7)
        var newer = older
        newer.orphanedSince = nil
        settlements.add(.keep("pause", [1]))
        settlements.add(.dispatcher(older))
        settlements.add(.forgetDispatcher(2))
        settlements.settled(1) { old }
        store.whileWriting = { [store, settlements] in
            settlements.add(.keep("pause", [2]))
            settlements.add(.dispatcher(newer))
            settlements.add(.dispatcher(StoredDispatcher(number: 2, id: "again", settled: new)))
            settlements.settled(1) { new }
            (store.whileWriting, store.fault) = ({}, nil)
        }
        scheduler.settle()
        scheduler.advance(by: .seconds(1))
        #expect(store.attempts == 2)
        #expect(
            try #require(store.writes.first) == [
                .forgetDispatcher(2), .keep("pause", [2]), .dispatcher(newer),
                .dispatcher(StoredDispatcher(number: 2, id: "again", settled: new)), .settled(1, new),
            ])
    }

    @Test("Q8, Q10: after a failure trims and dropped routes are written again")
    func forgottenLater() {
        let host = ForgettingHost()
        settlements.host = host
        store.fault = .noRoom("full")
        for (needed, routes) in [(7, [3, 4]), (9, [5])] as [(SequenceNumber, [RouteNumber])] {
            (host.needed, host.routes) = (needed, routes)
            settlements.settled(1) { Settled(through: needed) }
            scheduler.advance(by: .seconds(1))
        }
        store.fault = nil
        scheduler.advance(by: .seconds(1))
        #expect(
            store.writes == [
                [.forgetRoutes([3, 4]), .forgetRoutes([5]), .settled(1, Settled(through: 9)), .trim(through: 9)]
            ])
    }

    @Test("Q8: while the store fails only the last value of a name is pending")
    func keptOnce() throws {
        store.fault = .noRoom("full")
        for value in 1...100 as ClosedRange<UInt8> {
            settlements.add(.keep("clock", [value]))
            settlements.add(.keep("other \(value % 2)", value < 50 ? [value] : nil))
            scheduler.advance(by: .seconds(1))
        }
        store.fault = nil
        scheduler.advance(by: .seconds(1))
        #expect(
            try #require(store.writes.first) == [.keep("other 1", nil), .keep("clock", [100]), .keep("other 0", nil)])
    }

    @Test("Q8: while the store fails only the final state of a dispatcher is pending")
    func comesAndGoes() throws {
        store.fault = .noRoom("full")
        let moved = Settled(through: 1)
        for stamp in 1...100 as ClosedRange<Int64> {
            settlements.add(.dispatcher(StoredDispatcher(number: 1, id: "back", settled: moved, orphanedSince: stamp)))
            settlements.add(.forgetDispatcher(1))
            settlements.add(.dispatcher(StoredDispatcher(number: 1, id: "back", settled: Settled(through: stamp))))
            settlements.add(.dispatcher(StoredDispatcher(number: 2, id: "gone", settled: Settled(through: stamp))))
            settlements.add(.forgetDispatcher(2))
            scheduler.advance(by: .seconds(1))
            #expect(settlements.unwrittenForgets == [1, 2])
        }
        store.fault = nil
        scheduler.advance(by: .seconds(1))
        #expect(
            try #require(store.writes.first) == [
                .forgetDispatcher(1),
                .dispatcher(StoredDispatcher(number: 1, id: "back", settled: Settled(through: 100))),
                .forgetDispatcher(2),
            ])
        #expect(settlements.unwrittenForgets.isEmpty)
    }

    @Test("D11: after the store is closed nothing is written, and waiters are notified")
    func closed() {
        store.fault = .failed("broken")
        settlements.add(.keep("a", [1]))
        scheduler.settle()
        #expect(store.attempts == 1)
        settlements.close()
        var answers: [StoreFault?] = []
        settlements.add(.keep("b", [1]))
        settlements.settled(1) { Settled(through: 3) }
        settlements.whenWritten { answers.append($0) }
        scheduler.advance(by: .seconds(100))
        #expect(store.attempts == 1 && scheduler.nextDeadline == nil)
        #expect(answers == [.failed("the event store is closed")])
    }

    @Test("D11: a write that fails after the close is not repeated")
    func closedMeanwhile() {
        store.fault = .failed("broken")
        settlements.add(.keep("a", [1]))
        settlements.whenWritten { [settlements] _ in settlements.close() }
        scheduler.advance(by: .seconds(100))
        #expect(store.attempts == 1 && scheduler.nextDeadline == nil)
    }

    @Test("Q8, D10: while the store fails only the last change of each kind is pending, but every dead letter")
    func condensed() {
        store.fault = .noRoom("full")
        settlements.add(.keep("pause", [1]))
        for number in 1...10_500 { settlements.add(deadLetter(SequenceNumber(number))) }
        for stamp in 1...20 {
            settlements.add(.forgetIDs(through: Int64(stamp)))
            scheduler.advance(by: .seconds(1))
        }
        #expect(settlements.unwrittenDeadLetters == Tally(events: 10_500, bytes: 0))
        store.fault = nil
        scheduler.advance(by: .seconds(1))
        #expect(settlements.unwrittenDeadLetters == .zero)
        let written = store.writes.joined()
        #expect(written.contains(.keep("pause", [1])))
        #expect(written.count == 10_502)
        #expect(written.contains(deadLetter(1)) && written.contains(deadLetter(10_500)))
        #expect(written.contains(.forgetIDs(through: 20)))
    }

    @Test("Q8: waiters are notified of a failure")
    func reported() {
        var answers: [StoreFault?] = []
        settlements.whenWritten { answers.append($0) }
        scheduler.settle()
        store.fault = .failed("broken")
        settlements.add(.keep("a", nil))
        settlements.whenWritten { answers.append($0) }
        scheduler.settle()
        #expect(answers == [nil, .failed("broken")])
    }
}
