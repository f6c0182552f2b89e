import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateStore

/// Tests that a start on a copy of a running log finds all events.
@Suite("Backups of the log") struct LogBackupTests {
    let scene = StoreScene()
    /// The store that starts on the copy.
    let copy = StoreScene()

    /// The number of events of a group, and the bytes of an event's data.
    private static let (perGroup, size): (SequenceNumber, Int) = (50, 2_000)

    /// Opens a log in segments of 256 KiB.
    private func open() throws {
        (scene.options.segmentSize, scene.options.blockSize) = (256 << 10, 32 << 10)
        (scene.options.leastPacked, scene.options.mostUnfiledIDBytes) = (.max, 4 << 10)
        try scene.open()
        scene.write(
            .dispatcher(.at(0)), .dispatcher(.at(0, number: 2, id: "archive")), .keep("a", [1]), .keep("b", [2]))
    }

    /// Appends groups, with an id for each event.
    private func append(_ groups: ClosedRange<SequenceNumber>) {
        for group in groups {
            let first = (group - 1) * LogBackupTests.perGroup + 1
            let last = first + LogBackupTests.perGroup - 1
            let ids = RecentIDs(
                lastSequenceNumber: last, receivedStamp: 1_000, count: Int(LogBackupTests.perGroup),
                bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: group), count: 32 * Int(LogBackupTests.perGroup)))
            scene.append(
                Groups.of(
                    first...last, size: LogBackupTests.size, newRoutes: group == 1 ? [1: [1, 2]] : [:], recentIDs: ids))
        }
    }

    /// Writes all pieces of a backup to the copy's directory.
    /// - Parameter meanwhile: is called after each piece, with its number.
    /// - Returns: the size of the copy in bytes.
    private func backUp(
        without names: [String] = [], meanwhile: (Int) throws -> Void = { _ in }
    ) throws -> Int {
        let backup = try #require(scene.store.beginBackup(without: names))
        try FileManager.default.createDirectory(atPath: copy.directory + "/log", withIntermediateDirectories: true)
        var (count, bytes) = (0, 0)
        var files: [String: Data] = [:]
        while true {
            let piece = try scene.answer { backup.next(then: $0) }.get()
            #expect(files[piece.file, default: Data()].count == piece.offset || piece.bytes.isEmpty)
            files[piece.file, default: Data()] += piece.bytes
            (count, bytes) = (count + 1, bytes + piece.bytes.count)
            if piece.isLast { break }
            try meanwhile(count)
        }
        for (name, content) in files { try content.write(to: URL(fileURLWithPath: copy.directory + "/" + name)) }
        return bytes
    }

    private func deadLetters(_ scene: StoreScene) throws -> [StoredDeadLetter] {
        try scene.answer { scene.store.readDeadLetters(DeadLetterQuery(limit: 100), then: $0) }.get().deadLetters
    }

    @Test("Backup: a start on the copy finds the events, their dispatchers, dead letters, ids and kept values")
    func whole() throws {
        try open()
        append(1...30)
        scene.write(.settled(1, Settled(through: 700)), .settled(2, Settled(through: 900)), .trim(through: 700))
        scene.write(.deadLetter(.sample(3)), .deadLetter(.sample(5, dispatcher: 2)))
        _ = try backUp(without: ["b"])
        let (here, there) = (try scene.reopen(), try copy.open())
        #expect(there.warnings.isEmpty && there.notes.isEmpty)
        #expect(there.dispatchers == here.dispatchers && there.routes == here.routes)
        #expect(there.unsettled == here.unsettled && there.lastSequenceNumber == here.lastSequenceNumber)
        #expect(there.recentIDs == here.recentIDs && there.recentIDs.reduce(0) { $0 + $1.count } == 1_500)
        #expect(here.kept["b"] == [2] && there.kept["b"] == nil && there.kept["a"] == [1])
        #expect(try copy.numbers(after: 700) == scene.numbers(after: 700))
        #expect(try deadLetters(copy) == deadLetters(scene) && deadLetters(copy).count == 2)
    }

    @Test("Backup: under traffic the copy has the events of one moment, and both logs continue")
    func traffic() throws {
        try open()
        append(1...30)
        var newest: SequenceNumber = 30
        _ = try backUp { count in
            guard count <= 15 else { return }
            newest += 1
            append(newest...newest)
            scene.write(
                .settled(1, Settled(through: SequenceNumber(count) * 60)), .deadLetter(.sample(SequenceNumber(count))))
        }
        let there = try copy.open()
        let last = there.lastSequenceNumber
        #expect(last > 1_500 && last % LogBackupTests.perGroup == 0)
        let position = try #require(there.dispatchers.first { $0.number == 1 }).position
        #expect(try copy.numbers(after: position) == Array(position + 1...last))
        #expect(
            there.unsettled[1]?.total.events == Int(last - position) && there.unsettled[2]?.total.events == Int(last))
        #expect(
            try deadLetters(copy).map(\.deadLetter.sequenceNumber)
                == Array(1...SequenceNumber(try deadLetters(copy).count)))
        #expect(copy.append(Groups.of(last + 1...last + 3)) == nil)
        #expect(try copy.reopen().lastSequenceNumber == last + 3)
        #expect(try copy.numbers(after: last) == [last + 1, last + 2, last + 3])
        #expect(try scene.reopen().lastSequenceNumber == newest * LogBackupTests.perGroup)
    }

    @Test("Backup: the copy has about the size of the live events")
    func size() throws {
        try open()
        append(1...40)
        scene.write(.settled(1, Settled(through: 1_800)), .settled(2, Settled(through: 1_990)))
        let live = 200 * (LogBackupTests.size + 200)
        #expect(try backUp() < live + 300_000)
    }

    @Test("Backup: an empty store can be backed up")
    func empty() throws {
        try open()
        _ = try backUp()
        let there = try copy.open()
        #expect(there.dispatchers.count == 2 && there.lastSequenceNumber == 0 && there.warnings.isEmpty)
        #expect(copy.append(Groups.of(1...3, newRoutes: [1: [1, 2]])) == nil)
    }

    @Test(
        "Backup: a rewind ends the backup, because the copy may lack events that are pending again; a dry run does not")
    func rewind() throws {
        try open()
        scene.write(.retain(Retention()))
        append(1...30)
        func backUpWithRewind(isDryRun: Bool) throws {
            _ = try backUp { count in
                guard count == 2 else { return }
                let request = RewindRequest(1, to: .sequenceNumber(1), isDryRun: isDryRun)
                _ = try scene.answer { scene.store.rewind(request, then: $0) }.get()
            }
        }
        try backUpWithRewind(isDryRun: true)
        #expect(throws: StoreFault.self) { try backUpWithRewind(isDryRun: false) }
    }

    @Test("Backup: `--verify` finds no damage in the copy")
    func verified() throws {
        try open()
        append(1...10)
        scene.write(.deadLetter(.sample(3)))
        _ = try backUp()
        let report = try StoreVerification(directory: copy.directory).run()
        #expect(report.damaged == 0 && report.events == 500 && report.deadLetters == 1)
    }
}
