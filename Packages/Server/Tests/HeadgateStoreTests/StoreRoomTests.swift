import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store: limited room")
struct StoreRoomTests {
    @Test("Q8: a full disk refuses appends until there is room", .enabled(if: SmallDisk.isPossible))
    func fullDisk() throws {
        let disk = try SmallDisk()
        let scene = StoreScene(in: disk.path)
        (scene.options.segmentSize, scene.options.leastSegmentSize) = (256 << 10, 64 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        scene.append(Groups.of(1...1, newRoutes: [1: [1]]))
        try disk.fill()
        var refused: SequenceNumber = 2
        while scene.append(Groups.of(refused...refused, size: 50_000)) == nil { refused += 1 }
        guard case .noRoom = scene.append(Groups.of(refused...refused, size: 50_000)) else {
            Issue.record("the append was not refused with noRoom")
            return
        }
        #expect(try scene.numbers() == Array(1..<refused))
        try disk.makeRoom()
        #expect(scene.append(Groups.of(refused...refused, size: 50_000)) == nil)
        #expect(try scene.reopen().lastSequenceNumber == refused)
        #expect(try scene.numbers() == Array(1...refused))
        scene.close()
    }

    @Test("D10: dead letters are bounded in number and in bytes, and the oldest are deleted first")
    func deadLetters() throws {
        let scene = StoreScene()
        let bounds = StoreChange.limitDeadLetters(DeadLetterLimits(count: 5, bytes: 1_000))
        try scene.open()
        for number in 1...8 as ClosedRange<SequenceNumber> { scene.write(.deadLetter(.sample(number)), bounds) }
        #expect(try numbers(scene) == [4, 5, 6, 7, 8])
        _ = try scene.reopen()
        scene.write(.deadLetter(.sample(9, record: [UInt8](repeating: 65, count: 995))), bounds)
        #expect(try numbers(scene) == [7, 8, 9])
        scene.write(.deadLetter(.sample(10, record: [UInt8](repeating: 65, count: 5_000))), bounds)
        #expect(try numbers(scene) == [10])
    }

    private func numbers(_ scene: StoreScene) throws -> [SequenceNumber] {
        try scene.answer { scene.store.readDeadLetters(DeadLetterQuery(limit: 100), then: $0) }.get().deadLetters
            .map(\.deadLetter.sequenceNumber)
    }

    @Test("D10, O4: dead letters that are dropped to make room are reported, by dispatcher, once")
    func droppedDeadLetters() throws {
        let scene = StoreScene()
        let bounds = StoreChange.limitDeadLetters(DeadLetterLimits(count: 3))
        try scene.open()
        for number in 1...3 as ClosedRange<SequenceNumber> { scene.write(.deadLetter(.sample(number)), bounds) }
        scene.write(.deadLetter(.sample(4, dispatcher: 2)), .deadLetter(.sample(5)), bounds)
        scene.write(.deadLetter(.sample(6)), .deadLetter(.sample(7)), bounds)
        _ = try scene.reopen()
        #expect(scene.droppedDeadLetters == [1: 3, 2: 1])
        scene.close()
        #expect(scene.droppedDeadLetters == [1: 3, 2: 1], "a start does not report dropped dead letters again")
    }

    @Test("D10: a dead letter is read with all members that were written")
    func deadLetter() throws {
        let scene = StoreScene()
        try scene.open()
        let deadLetter = DeadLetter.sample(7, dispatcher: 3, record: Array("{\"a\":1}".utf8))
        scene.write(.deadLetter(deadLetter))
        _ = try scene.reopen()
        let page = try scene.answer { scene.store.readDeadLetters(DeadLetterQuery(limit: 9), then: $0) }.get()
        #expect(page.deadLetters == [StoredDeadLetter(number: 1, deadLetter: deadLetter)])
    }
}
