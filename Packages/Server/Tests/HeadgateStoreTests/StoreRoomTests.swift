import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: room")
struct StoreRoomTests {
    @Test("Q8: without room appends are refused, the rest goes on, and room that comes back is used")
    func limitedPages() throws {
        let scene = StoreScene()
        scene.options.mostPages = 60
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        let full = try fill(scene)
        #expect(full > 5)
        #expect(scene.write(.settled(1, Settled(through: full - 1)), .keep("pause", [1])) == nil)
        #expect(try scene.numbers() == Array(1..<full))
        scene.write(.trim(through: full - 1))
        #expect(scene.append(Groups.of(full + 1...full + 1, size: 50_000)) == nil)
        #expect(try scene.reopen().unsettled[1]?[1]?.events == 1)
    }

    /// Appends until there is no room.
    /// - Returns: the number that was refused.
    private func fill(_ scene: StoreScene) throws -> SequenceNumber {
        for number in 1...10_000 as ClosedRange<SequenceNumber> {
            let group = Groups.of(number...number, size: 50_000, newRoutes: number == 1 ? [1: [1]] : [:])
            guard let fault = scene.append(group) else { continue }
            guard case .noRoom = fault else { throw fault }
            return number
        }
        throw StoreFault.failed("the store does not get full")
    }

    @Test("Q8: a full disk refuses appends until somebody makes room", .enabled(if: SmallDisk.isPossible))
    func fullDisk() throws {
        let disk = try SmallDisk()
        let scene = StoreScene(in: disk.path)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        scene.append(Groups.of(1...1, newRoutes: [1: [1]]))
        try disk.fill()
        var refused: SequenceNumber = 2
        while scene.append(Groups.of(refused...refused, size: 50_000)) == nil { refused += 1 }
        guard case .noRoom = scene.append(Groups.of(refused...refused, size: 50_000)) else {
            Issue.record("not refused for want of room")
            return
        }
        #expect(try scene.numbers() == Array(1..<refused))
        try disk.makeRoom()
        #expect(scene.append(Groups.of(refused...refused, size: 50_000)) == nil)
        #expect(try scene.reopen().lastSequenceNumber == refused)
        #expect(try scene.numbers() == Array(1...refused))
        scene.close()
    }

    @Test("D10: dead letters are bounded in number and in bytes, and the oldest go first")
    func deadLetters() throws {
        let scene = StoreScene()
        let bounds = StoreChange.limitLetters(LetterBounds(count: 5, bytes: 1_000))
        try scene.open()
        for number in 1...8 as ClosedRange<SequenceNumber> { scene.write(.deadLetter(.sample(number)), bounds) }
        #expect(try scene.sql("SELECT count(*) FROM dead_letters") == 5)
        #expect(try scene.sql("SELECT min(seq) FROM dead_letters") == 4)
        _ = try scene.reopen()
        scene.write(.deadLetter(.sample(9, record: [UInt8](repeating: 65, count: 995))), bounds)
        #expect(try scene.sql("SELECT count(*) FROM dead_letters") == 3)
        scene.write(.deadLetter(.sample(10, record: [UInt8](repeating: 65, count: 5_000))), bounds)
        #expect(try scene.sql("SELECT min(seq) FROM dead_letters") == 10)
    }

    @Test("D10, O4: dead letters that have to make room are told, by dispatcher, once", arguments: StoreKind.allCases)
    func droppedLetters(kind: StoreKind) throws {
        let scene = StoreScene(kind)
        let bounds = StoreChange.limitLetters(LetterBounds(count: 3))
        try scene.open()
        for number in 1...3 as ClosedRange<SequenceNumber> { scene.write(.deadLetter(.sample(number)), bounds) }
        scene.write(.deadLetter(.sample(4, dispatcher: 2)), .deadLetter(.sample(5)), bounds)
        scene.write(.deadLetter(.sample(6)), .deadLetter(.sample(7)), bounds)
        _ = try scene.reopen()
        #expect(scene.droppedLetters == [1: 3, 2: 1])
        scene.close()
        #expect(scene.droppedLetters == [1: 3, 2: 1], "what a start finds was told before")
    }

    @Test("D10: a dead letter keeps all that is known of it")
    func deadLetterColumns() throws {
        let scene = StoreScene()
        try scene.open()
        scene.write(.deadLetter(.sample(7, dispatcher: 3, record: Array("{\"a\":1}".utf8))))
        let known = """
            SELECT count(*) FROM dead_letters WHERE letter = 1 AND dispatcher = 3 AND seq = 7
            AND reason = 'max_attempts' AND status = 503 AND answer = 'busy' AND attempts = 100
            AND first_failed_at = 5 AND died_at = 6 AND size = 7
            AND record = CAST('{"a":1}' AS BLOB)
            """
        #expect(try scene.sql(known) == 1)
    }

    @Test("D10: a change that fails takes its dead letters with it, and they are not counted")
    func failedChange() throws {
        let scene = StoreScene()
        try scene.open()
        scene.write(.dispatcher(.at(0)), .deadLetter(.sample(1)))
        // Another dispatcher of the same name cannot be.
        #expect(scene.write(.deadLetter(.sample(2)), .dispatcher(.at(0, number: 2))) != nil)
        scene.write(.deadLetter(.sample(3)))
        #expect(try scene.sql("SELECT group_concat(seq, '') FROM (SELECT seq FROM dead_letters ORDER BY letter)") == 13)
    }
}
