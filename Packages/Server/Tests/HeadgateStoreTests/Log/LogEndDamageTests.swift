import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

/// Tests damage in a log of one segment after the daemon was killed.
@Suite("A log that is damaged near its end")
struct LogEndDamageTests {
    private let left = StoreScene()
    private let scene = StoreScene()

    /// Appends events 1 to 9 in groups of three. Then copies the directory as if the daemon were killed.
    /// - Parameter body: makes further changes after the events.
    private func fill(_ body: () -> Void = {}) throws {
        try left.open()
        left.write(.dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), to: 9, by: 3) {
            left.append(Groups.of(first...first + 2, size: 50, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
        body()
        try FileManager.default.copyItem(atPath: left.directory, toPath: scene.directory)
    }

    @Test("Q8: damage is counted once, also if the segment's summary is written after it")
    func beforeTheSummary() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (8 << 10, 1 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), to: 90, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
            guard first == 7 else { continue }
            try corrupt("event-5")
            #expect(try scene.numbers() == [1, 2, 3, 7, 8, 9])
        }
        for _ in 1...2 {
            let state = try scene.reopen()
            #expect(state.unsettled[1]?[1]?.events == 87 && state.quarantined == 0)
            #expect(try scene.numbers().count == 87)
        }
        #expect(scene.quarantined == 3)
    }

    private func corrupt(_ text: String) throws {
        try corrupt(text, in: scene)
    }

    /// Changes the last byte of a text in the newest file that contains the text.
    private func corrupt(_ text: String, in scene: StoreScene) throws {
        let log = scene.directory + "/log/"
        let names = try FileManager.default.contentsOfDirectory(atPath: log).filter { $0.hasSuffix(".log") }.sorted()
        let holds = { FileManager.default.contents(atPath: log + $0)?.range(of: Data(text.utf8)) != nil }
        let file = try log + #require(names.last(where: holds))
        var bytes = try #require(FileManager.default.contents(atPath: file))
        let index = try #require(bytes.range(of: Data(text.utf8)))
        bytes[index.upperBound - 1] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
    }

    @Test("Q8: a warning counts damaged events before valid ones, and their bytes are kept")
    func inTheMiddle() throws {
        try fill()
        try corrupt("event-5")
        let state = try scene.open()
        #expect(state.warnings.count == 1 && state.notes == [])
        #expect(state.warnings[0].hasSuffix(" are ignored, and 3 events with them"), "\(state.warnings)")
        #expect(state.quarantined == 3)
        #expect(try scene.numbers() == [1, 2, 3, 7, 8, 9])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory + "/log/damaged").count == 1)
    }

    @Test("Q8, P1: damaged events are counted at the first start that finds them, and only if they were not settled")
    func counted() throws {
        try fill()
        try corrupt("event-5")
        #expect(try scene.open().quarantined == 3)
        let again = try scene.reopen()
        #expect(again.quarantined == 0 && again.unsettled[1]?[1]?.events == 6)
    }

    @Test("Q8, P1: damaged events that every dispatcher has settled are not counted")
    func settledAlready() throws {
        try fill { left.write(.settled(1, Settled(through: 5))) }
        try corrupt("event-5")
        #expect(try scene.open().quarantined == 1)
    }

    @Test("Q8: damage at the end may be an interrupted write: it is logged, but not as a warning")
    func theLast() throws {
        try fill()
        try corrupt("event-8")
        let verified = try StoreVerification(directory: scene.directory).run()
        let lines = verified.lines(scene.directory)
        #expect(verified.isSound && lines.last == "no other damage found")
        #expect(lines.contains { $0.hasPrefix("note: ") && $0.contains("at the end of the log") })
        let state = try scene.open()
        #expect(state.warnings == [] && state.notes.count == 1, "\(state.notes)")
        #expect(state.lastSequenceNumber == 6)
    }

    @Test(
        "Q8: damage of frames that a start rewrote is reported, because they were on the disk, and loses no other event",
        arguments: [("event-2", [4, 5, 6, 7, 8, 9]), ("event-8", [1, 2, 3, 4, 5, 6])])
    func rewritten(_ event: String, left numbers: [SequenceNumber]) throws {
        left.options.durability = .normal
        try fill()
        // The daemon is killed again before it has written anything.
        try scene.open()
        let again = StoreScene()
        try FileManager.default.copyItem(atPath: scene.directory, toPath: again.directory)
        try corrupt(event, in: again)
        let state = try again.open()
        #expect(state.warnings.count == 1 && state.notes == [], "\(state.warnings) \(state.notes)")
        #expect(state.lastSequenceNumber >= 9)
        #expect(try again.numbers() == numbers)
    }

    @Test("Q8: after an orderly stop the remains of earlier writes are not reported")
    func afterAStop() throws {
        try fill { left.close() }
        let state = try scene.open()
        #expect(state.warnings == [] && state.notes == [] && state.lastSequenceNumber == 9)
    }

    @Test("Q8: numbers of damaged packed events are not reused, however many events were in a few bytes")
    func packedNumbers() throws {
        try left.open()
        left.write(.dispatcher(.at(0)))
        left.append(Groups.of(1...2, newRoutes: [1: [1]]))
        left.append(Groups.of(3...2_000, size: 2))
        left.close()
        try FileManager.default.copyItem(atPath: left.directory, toPath: scene.directory)
        // Packed records contain no text to search for. The byte is in the last frame but one.
        let file = scene.directory + "/log/000001.log"
        var bytes = try #require(FileManager.default.contents(atPath: file))
        let end = try #require(bytes.lastIndex { $0 != 0 })
        bytes[end - 200] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))
        let state = try scene.open()
        #expect(
            state.lastSequenceNumber >= 2_000 && state.warnings.count == 1,
            "\(state.lastSequenceNumber) \(state.warnings)")
        #expect(try scene.numbers() == [1, 2])
    }

    @Test("Q8: numbers of damaged events are not reused, also if only their settlements remain")
    func numbers() throws {
        try fill {
            left.write(.settled(1, Settled(through: 9)))
            left.append(Groups.of(10...10))
            left.close()
        }
        try corrupt("event-8")
        try corrupt("event-10")
        let state = try scene.open()
        #expect(state.warnings.count == 2, "\(state.warnings)")
        // The last number must not exceed the numbers that may be lost, because the sweeper visits each number.
        #expect((11...1_000).contains(state.lastSequenceNumber))
        #expect(try scene.reopen().lastSequenceNumber == state.lastSequenceNumber)
    }

    @Test(
        "Q8: numbers of damaged events are not reused if the events are settled in unsynced frames",
        arguments: [.settled(1, Settled(through: 40)), .trim(through: 40), .deadLetter(.sample(40))] as [StoreChange])
    func settledInDoubt(_ change: StoreChange) throws {
        try fill {
            // The numbers from 10 to 39 belong to refused groups.
            left.append(Groups.of(40...40))
            left.write(change)
        }
        try corrupt("event-40")
        let state = try scene.open()
        #expect(state.warnings.count == 1, "\(state.warnings)")
        #expect((41...400).contains(state.lastSequenceNumber))
        #expect(try scene.reopen().lastSequenceNumber == state.lastSequenceNumber)
    }

    @Test(
        "Q8: a number whose settlement is only in an unsynced frame is not reused",
        arguments: [.settled(1, Settled(through: 40)), .forgetIDs(through: 40), .deadLetter(.sample(40))]
            as [StoreChange])
    func settledWithoutDamage(_ change: StoreChange) throws {
        try fill { left.write(change) }
        #expect(try scene.open().lastSequenceNumber == 40)
        #expect(try scene.reopen().lastSequenceNumber == 40)
    }

    @Test("Q8: numbers of damaged events are not reused if a later sync fails and the log is repaired")
    func repaired() throws {
        let disk = FaultyDisk()
        scene.options.disk = disk
        try scene.open()
        for first: SequenceNumber in [1, 4] { scene.append(Groups.of(first...first + 2)) }
        try corrupt("event-6")
        disk.failsToSync = true
        #expect(scene.append(Groups.of(7...7)) != nil)
        disk.failsToSync = false
        scene.write(.keep("a", [1]))
        // A missing acknowledged event is damage, even if the log has nothing after it.
        #expect(try scene.numbers() == [1, 2, 3])
        #expect(scene.quarantined == 3)
        #expect(try scene.reopen().lastSequenceNumber == 6)
    }

    @Test("Q8: damaged events are subtracted once, also if the log is repaired at that moment")
    func duringRepair() throws {
        let disk = FaultyDisk()
        (scene.options.disk, scene.options.segmentSize, scene.options.blockSize) = (disk, 8 << 10, 1 << 10)
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        for first in stride(from: SequenceNumber(1), to: 90, by: 3) {
            scene.append(Groups.of(first...first + 2, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
        try corrupt("event-5")
        disk.failsToSync = true
        #expect(scene.append(Groups.of(91...91)) != nil)
        disk.failsToSync = false
        for _ in 1...2 { #expect(try scene.numbers().count == 87) }
        #expect(scene.quarantined == 3)
        #expect(try scene.reopen().unsettled[1]?[1]?.events == 87)
    }

    @Test("Q3: a trim through the highest number settles the present events, not later ones")
    func allTrimmed() throws {
        try fill { left.write(.trim(through: .max)) }
        #expect(try scene.open().lastSequenceNumber == 9)
        scene.append(Groups.of(10...10))
        #expect(try scene.reopen().unsettled[1]?[1]?.events == 1)
    }

    @Test("Q8: a number that is marked as settled counts as used")
    func settled() {
        var state = LogState()
        state.lastSequenceNumber = 3
        state.dispatchers[1] = StoredDispatcher(number: 1, id: "collect", settled: Settled(through: 4, and: [6...7]))
        #expect(state.highestMentioned == 7)
        state.trimmedThrough = 8
        #expect(state.highestMentioned == 8, "a start treats all numbers up to it as settled by all dispatchers")
        state.ids.forget(through: 9)
        #expect(state.highestMentioned == 9)
        state.deadLetters.add(.sample(12), at: DeadLetterPosition(frame: LogPosition(segment: 1, offset: 64), index: 0))
        #expect(state.highestMentioned == 12, "only the number of a dead letter's event may be left")
    }

    @Test("Q8: a number that only a dead letter or a remembered id has counts as used")
    func mentioned() {
        var state = LogState()
        state.lastSequenceNumber = 3
        let index = LogPosition(segment: 1, offset: 64)
        let deadLetters: [LogChange] = [.requested(.deadLetter(.sample(9))), .requested(.deadLetter(.sample(5)))]
        state.apply(deadLetters, in: index)
        #expect(state.highestMentioned == 9)
        state.apply([.deadLettersGone([1])], in: index)
        #expect(state.highestMentioned == 5)
        var extras = LogExtras()
        extras.recentIDs = RecentIDs(lastSequenceNumber: 11, receivedStamp: 0, count: 1, bytes: [1])
        state.apply(extras)
        #expect(state.highestMentioned == 11)
        state.apply([.requested(.forgetIDs(through: 12))], in: index)
        #expect(state.highestMentioned == 12)
    }

    @Test("Q8, D10: a number that only a dead letter has is not reused, also after a second start")
    func deadLetterAcrossStarts() throws {
        try fill { left.write(.deadLetter(.sample(40))) }
        for _ in 1...2 {
            #expect(try scene.open().lastSequenceNumber == 40)
            scene.close()
        }
        try scene.open()
        #expect(scene.append(Groups.of(41...41)) == nil)
        #expect(try scene.numbers() == Array(1...9) + [41])
    }

    @Test("Q8, D10: a damaged dead letter is counted as damage, and no longer as a dead letter")
    func deadLetter() throws {
        try fill {
            left.write(.deadLetter(.sample(1, record: Groups.of(20...20).chunk.bytes)))
            left.write(.deadLetter(.sample(2, record: Groups.of(21...21).chunk.bytes)))
            left.close()
        }
        _ = try scene.open()
        try corrupt("event-20")
        #expect(try deadLetters() == [2])
        #expect(scene.quarantined == 1)
        _ = try scene.reopen()
        #expect(try deadLetters() == [2] && scene.quarantined == 1)
    }

    private func deadLetters() throws -> [DeadLetterNumber] {
        let query = DeadLetterQuery(limit: 10)
        let result: Result<StoredDeadLetterPage, StoreFault> = scene.answer {
            scene.store.readDeadLetters(query, then: $0)
        }
        scene.write()
        return try result.get().deadLetters.map(\.number)
    }
}
