import Foundation
import HeadgateCore
import HeadgateTransport
import Testing

@testable import HeadgateStore

@Suite("Event store: appends")
struct StoreAppendTests {
    let scene = StoreScene()

    /// Returns an engine for the test alone, and the number of its syncs since its start.
    private func engine(_ durability: Durability = .full) throws -> (engine: LogEngine, syncs: Guarded<Int>) {
        let syncs = Guarded(0)
        (scene.options.durability, scene.options.segmentSize) = (durability, 64 << 10)
        scene.options.disk = FaultyDisk(onSync: { syncs.withLock { $0 += 1 } })
        let engine = try scene.options.open().engine
        syncs.withLock { $0 = 0 }
        return (engine, syncs)
    }

    @Test("Q5: waiting appends are committed together, with or without reads between them")
    func coalesce() throws {
        let (engine, syncs) = try engine()
        let jobs = (1...20).flatMap {
            [
                StoreJob.append(Groups.of($0...$0)), .ask({ $0.read(after: 0) }, then: { _ in }),
                .write([.settled(1, Settled(through: $0))]),
            ]
        }
        var answers = 0
        engine.carryOut(jobs) { answers += $0.answers.count }
        #expect(answers == 60)
        #expect(syncs.withLock { $0 } == 1)
    }

    @Test("Q5: a read sees the appends before it, and no later ones")
    func readsInTurn() throws {
        let (engine, _) = try engine()
        var seen: [[SequenceNumber]] = []
        let read = StoreJob.ask {
            $0.read(after: 0)
        } then: { result in
            seen.append(((try? result.get()) ?? nil)?.map(\.sequenceNumber) ?? [])
        }
        let jobs = [read, .append(Groups.of(1...2)), read, .append(Groups.of(3...4)), read]
        engine.carryOut(jobs) { news in
            for answer in news.answers { answer() }
        }
        #expect(seen == [[], [1, 2], [1, 2, 3, 4]])
    }

    @Test(
        "Q5: with full durability appends are synced, and changes without appends are not",
        arguments: [Durability.full, .normal])
    func synced(_ durability: Durability) throws {
        let (engine, syncs) = try engine(durability)
        engine.carryOut([.append(Groups.of(1...1))]) { _ in }
        #expect(syncs.withLock { $0 } == (durability == .full ? 1 : 0))
        engine.carryOut([.write([.settled(1, Settled(through: 1))])]) { _ in }
        #expect(syncs.withLock { $0 } == (durability == .full ? 1 : 0))
        engine.carryOut([.write([]), .append(Groups.of(2...2))]) { _ in }
        #expect(syncs.withLock { $0 } == (durability == .full ? 2 : 0))
    }

    @Test("Q1: a closed store refuses requests with an error that says so")
    func notOpen() throws {
        try scene.open()
        scene.close()
        #expect(scene.append(Groups.of(1...1)) == .failed("the event store is not open"))
        #expect(throws: StoreFault.failed("the event store is not open")) { try scene.read(after: 0) }
        scene.close()
        #expect(try scene.store.open().lastSequenceNumber == 0)
        #expect(throws: StoreFault.failed("the store is already open")) { try scene.store.open() }
    }

    @Test("Q1: closing finishes the requested jobs")
    func closing() throws {
        try scene.open()
        var answers = 0
        for number in 1...20 as ClosedRange<SequenceNumber> {
            scene.store.append(Groups.of(number...number)) { _ in answers += 1 }
        }
        scene.close()
        #expect(answers == 20)
        let files = try FileManager.default.contentsOfDirectory(atPath: scene.directory)
        #expect(files.sorted() == ["headgate.lock", "log"])
        #expect(try scene.open().lastSequenceNumber == 20)
    }
}
