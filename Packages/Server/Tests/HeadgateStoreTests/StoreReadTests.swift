import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store: reading and trimming")
struct StoreReadTests {
    let scene = StoreScene()

    @Test("Q6: one read returns many groups of one event")
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

    @Test("Q6: one read is bounded, but a group is never cut")
    func boundedReads() throws {
        try scene.open()
        for number in 1...4 as ClosedRange<SequenceNumber> { scene.append(Groups.of(number...number, size: 100_000)) }
        scene.append(Groups.of(5...14, size: 100_000))
        #expect(try scene.read(after: 0)?.lastSequenceNumber == 3)
        #expect(try scene.read(after: 4)?.map(\.sequenceNumber) == Array(5...14))
    }

    @Test("Q2: a read from inside a group returns the group, and a read after the last event returns none")
    func insideAndEnd() throws {
        try scene.open()
        scene.append(Groups.of(10...20))
        #expect(try scene.read(after: 15)?.map(\.sequenceNumber) == Array(10...20))
        #expect(try scene.read(after: 20) == nil)
        #expect(try scene.read(after: .max) == nil)
        #expect(try scene.read(after: -5)?.lastSequenceNumber == 20)
    }

    @Test("Q3: the highest number is remembered, also if no event is left")
    func lastNumber() throws {
        try scene.open()
        for number in 1...300 as ClosedRange<SequenceNumber> { scene.append(Groups.of(2 * number - 1...2 * number)) }
        scene.write(.trim(through: .max))
        #expect(try scene.reopenWhenIdle().lastSequenceNumber == 600)
        scene.append(Groups.of(601...602))
        #expect(try scene.reopen().lastSequenceNumber == 602)
    }
}
