import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Settlements")
struct SettlementsTests {
    let worker = ManualWorker()
    let store: WrittenStore
    let settlements: Settlements

    init() {
        store = WrittenStore(worker: worker)
        settlements = Settlements(worker: worker, store: store)
    }

    /// Writes down what is written.
    final class WrittenStore: EventStore {
        let kind = "written"
        var fault: StoreFault?
        var writes: [[StoreChange]] = []
        private let worker: ManualWorker

        init(worker: ManualWorker) { self.worker = worker }

        func open() -> StoredState { StoredState() }
        func append(_ group: AppendGroup, then: @escaping (StoreFault?) -> Void) {}
        func read(after: SequenceNumber, then: @escaping (Result<Chunk?, StoreFault>) -> Void) {}
        func readLetters(_ query: LetterQuery, then: @escaping (Result<LetterPage, StoreFault>) -> Void) {}
        func purgeLetters(_ query: LetterQuery, then: @escaping (Result<Int, StoreFault>) -> Void) {}
        func close(then: @escaping () -> Void) {}

        func write(_ changes: [StoreChange], then: @escaping (StoreFault?) -> Void) {
            let fault = fault
            if fault == nil { writes.append(changes) }
            worker.soon { then(fault) }
        }
    }

    private func letter(_ number: SequenceNumber) -> StoreChange {
        let moment = Timestamp(milliseconds: 0)
        return .deadLetter(
            DeadLetter(
                dispatcher: 1, sequenceNumber: number, reason: .refused, status: nil, answer: nil, attempts: 1,
                firstFailedAt: moment, diedAt: moment, record: []))
    }

    @Test("Q6: the settlements of a turn are one write, what each dispatcher settled last")
    func oneWrite() {
        settlements.settled(1) { Settled(through: 3) }
        settlements.settled(1) { Settled(through: 7) }
        settlements.add(.keep("a", [1]))
        worker.settle()
        #expect(store.writes == [[.keep("a", [1]), .settled(1, Settled(through: 7))]])
    }

    @Test("Q8: what could not be written is written later, in order, with what came meanwhile")
    func writtenLater() throws {
        store.fault = .noRoom("full")
        settlements.add(.keep("a", [1]))
        settlements.settled(1) { Settled(through: 3) }
        settlements.settled(2) { Settled(through: 9) }
        worker.settle()
        settlements.add(.keep("a", nil))
        settlements.settled(1) { Settled(through: 4) }
        store.fault = nil
        worker.settle()
        #expect(store.writes.isEmpty)
        worker.advance(by: .seconds(1))
        let written = try #require(store.writes.first)
        #expect(written.prefix(2) == [.keep("a", [1]), .keep("a", nil)])
        #expect(
            written.contains(.settled(1, Settled(through: 4))) && written.contains(.settled(2, Settled(through: 9))))
        #expect(written.count == 4 && store.writes.count == 1)
    }

    @Test("Q8: what waits for a store that fails is bounded, and only old dead letters go")
    func bounded() {
        store.fault = .noRoom("full")
        settlements.add(.keep("pause", [1]))
        for number in 1...10_500 { settlements.add(letter(SequenceNumber(number))) }
        for stamp in 1...100 {
            settlements.add(.forgetIDs(through: Int64(stamp)))
            worker.advance(by: .seconds(1))
        }
        store.fault = nil
        worker.advance(by: .seconds(1))
        let written = store.writes.joined()
        #expect(written.contains(.keep("pause", [1])))
        #expect(written.count == 10_002)
        #expect(written.contains(letter(501)) && !written.contains(letter(500)))
        #expect(written.last == .forgetIDs(through: 100))
    }

    @Test("Q8: those who wait are told of a fault, and not asked to wait for ever")
    func told() {
        var answers: [StoreFault?] = []
        settlements.whenWritten { answers.append($0) }
        worker.settle()
        store.fault = .failed("broken")
        settlements.add(.keep("a", nil))
        settlements.whenWritten { answers.append($0) }
        worker.settle()
        #expect(answers == [nil, .failed("broken")])
    }
}
