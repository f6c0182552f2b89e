import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

@Suite("Event store: dead letters")
struct StoreDeadLetterTests {
    let scene = StoreScene()

    private func read(_ query: DeadLetterQuery) throws -> StoredDeadLetterPage {
        try scene.answer { scene.store.readDeadLetters(query, then: $0) }.get()
    }

    private func purge(_ query: DeadLetterQuery) throws -> Int {
        try scene.answer { scene.store.purgeDeadLetters(query, then: $0) }.get()
    }

    /// Stores dead letters of dispatchers 1 and 2 alternately.
    private func makeDeadLetters(_ numbers: ClosedRange<SequenceNumber>) {
        for number in numbers {
            let record = Groups.of(number...number).chunk.bytes
            scene.write(.deadLetter(.sample(number, dispatcher: number % 2 == 1 ? 1 : 2, record: record)))
        }
    }

    @Test("D10: a purge deletes the dead letters added before its request, though both are carried out at once")
    func purgeInOrder() throws {
        let engine = try scene.options.open().engine
        var purged: [Int] = []
        var read: [SequenceNumber] = []
        let all = DeadLetterQuery(limit: 9)
        let purge = StoreJob.ask(isAboutDeadLetters: true) {
            $0.purgeDeadLetters(all)
        } then: { result in
            purged.append((try? result.get()) ?? -1)
        }
        let list = StoreJob.ask(isAboutDeadLetters: true) {
            $0.readDeadLetters(all)
        } then: { result in
            read = (try? result.get().deadLetters.map(\.deadLetter.sequenceNumber)) ?? []
        }
        engine.carryOut([
            .write([.deadLetter(.sample(1))]), purge, .write([.deadLetter(.sample(2))]), list,
            .write([.deadLetter(.sample(3))]),
        ]) { news in
            for answer in news.answers { answer() }
        }
        #expect(read == [2])
        #expect(purged == [1])
        #expect(try engine.readDeadLetters(all).get().deadLetters.map(\.deadLetter.sequenceNumber) == [2, 3])
    }

    @Test("D10: a dead letter is deleted in the commit that queues its event, and stays if that fails")
    func requeued() throws {
        try scene.open()
        makeDeadLetters(1...3)
        let group = Groups.of(4...5, newRoutes: [1: [1]])
        #expect(scene.append(group.with(requeued: [1, 3])) == nil)
        #expect(try read(DeadLetterQuery(limit: 9)).deadLetters.map(\.number) == [2])
        // A group that continues a missing group is refused.
        #expect(scene.append(Groups.of(6...6).with(behind: 90, requeued: [2])) != nil)
        #expect(try scene.reopen().lastSequenceNumber == 5)
        #expect(try read(DeadLetterQuery(limit: 9)).deadLetters.map(\.number) == [2])
    }

    @Test("D10: the store counts its dead letters, also after a start")
    func kept() throws {
        try scene.open()
        makeDeadLetters(1...3)
        let each = scene.store.deadLetterTally.bytes / 3
        #expect(scene.store.deadLetterTally == Tally(events: 3, bytes: 3 * each) && each > 0)
        #expect(try purge(DeadLetterQuery(limit: 2)) == 2)
        #expect(scene.store.deadLetterTally == Tally(events: 1, bytes: each))
        makeDeadLetters(4...5)
        scene.write(.limitDeadLetters(DeadLetterLimits(count: 2)))
        #expect(try read(DeadLetterQuery(limit: 9)).deadLetters.map(\.number) == [4, 5])
        #expect(scene.store.deadLetterTally == Tally(events: 2, bytes: 2 * each))
        #expect(try scene.reopen().deadLetterTally == Tally(events: 2, bytes: 2 * each))
        #expect(scene.store.deadLetterTally == Tally(events: 2, bytes: 2 * each))
    }

    @Test("D10: a closed store refuses to read and to purge dead letters")
    func closed() throws {
        try scene.open()
        scene.close()
        #expect(throws: StoreFault.self) { try read(DeadLetterQuery(limit: 1)) }
        #expect(throws: StoreFault.self) { try purge(DeadLetterQuery(limit: 1)) }
    }
}
