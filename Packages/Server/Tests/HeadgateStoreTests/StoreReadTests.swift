import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: reading and trimming")
struct StoreReadTests {
    let scene = StoreScene()

    @Test("Q6: lone events are read many at a time")
    func coalescedReads() throws {
        try scene.open()
        for number in 1...1_200 as ClosedRange<SequenceNumber> {
            scene.store.append(Groups.of(number...number)) { _ in }
        }
        let first = try #require(try scene.read(after: 0))
        #expect(first.map(\.sequenceNumber) == Array(1...first.lastSequenceNumber))
        #expect(first.lastSequenceNumber >= 500)
        #expect(try scene.numbers() == Array(1...1_200))
        #expect(try scene.numbers(after: 700) == Array(701...1_200))
    }

    @Test("Q6: what is read at once is bounded, but a group is never cut")
    func boundedReads() throws {
        try scene.open()
        for number in 1...4 as ClosedRange<SequenceNumber> { scene.append(Groups.of(number...number, size: 100_000)) }
        scene.append(Groups.of(5...14, size: 100_000))
        #expect(try scene.read(after: 0)?.lastSequenceNumber == 2)
        #expect(try scene.read(after: 4)?.map(\.sequenceNumber) == Array(5...14))
    }

    @Test("Q2: reading from inside a group gives the group, and nothing behind the last gives nothing")
    func insideAndEnd() throws {
        try scene.open()
        scene.append(Groups.of(10...20))
        #expect(try scene.read(after: 15)?.map(\.sequenceNumber) == Array(10...20))
        #expect(try scene.read(after: 20) == nil)
        #expect(try scene.read(after: .max) == nil)
        #expect(try scene.read(after: -5)?.lastSequenceNumber == 20)
    }

    @Test("Q3: trimming deletes what is settled but keeps the highest row, and with it the last number")
    func trimKeepsTheHighest() throws {
        try scene.open()
        for number in 1...300 as ClosedRange<SequenceNumber> { scene.append(Groups.of(2 * number - 1...2 * number)) }
        scene.write(.trim(through: 201))
        #expect(try scene.reopenWhenIdle().lastSequenceNumber == 600)
        #expect(try scene.numbers() == Array(201...600))
        scene.write(.trim(through: .max))
        #expect(try scene.reopenWhenIdle().lastSequenceNumber == 600)
        #expect(try scene.numbers() == [599, 600])
        scene.append(Groups.of(601...602))
        #expect(try scene.reopen().lastSequenceNumber == 602)
    }

    @Test("Q6: trimming goes in small steps and starts with the oldest")
    func trimInSteps() throws {
        let database = try StoreDatabase.open(scene.options).0
        database.carryOut((1...200).map { .append(Groups.of($0...$0)) } + [.write([.trim(through: 200)])]) { _ in }
        var left: [Int64] = []
        while database.hasChores {
            _ = database.turn([], report: { _ in })
            left.append(try database.connection.integer("SELECT count(*) FROM chunks"))
        }
        #expect(left == [136, 72, 8, 1])
    }

    @Test("Q6: a step is bounded in bytes as well")
    func trimInBytes() throws {
        let database = try StoreDatabase.open(scene.options).0
        database.carryOut((1...6).map { .append(Groups.of($0...$0, size: 3 << 20)) } + [.write([.trim(through: 6)])]) {
            _ in
        }
        _ = database.turn([], report: { _ in })
        #expect(try database.connection.integer("SELECT count(*) FROM chunks") == 4)
    }

    @Test("Q6: the room of what was trimmed is used again")
    func roomIsReused() throws {
        let database = try StoreDatabase.open(scene.options).0
        var pages: [Int64] = []
        for number in 1...400 as ClosedRange<SequenceNumber> {
            database.carryOut([.append(Groups.of(number...number, size: 50_000)), .write([.trim(through: number)])]) {
                _ in
            }
            _ = database.turn([], report: { _ in })
            pages.append(try database.connection.integer("PRAGMA page_count"))
        }
        #expect(pages[399] <= pages[50] + 4)
    }
}
