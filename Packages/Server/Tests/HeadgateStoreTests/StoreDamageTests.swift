import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: damage")
struct StoreDamageTests {
    let scene = StoreScene()

    @Test(
        "Q8: a damaged file is set aside under a new name, and a fresh one takes its place", arguments: Damage.allCases)
    func setAside(_ damage: Damage) throws {
        try scene.open()
        for number in 1...50 as ClosedRange<SequenceNumber> { scene.append(Groups.of(number...number, size: 5_000)) }
        scene.close()
        try damage.apply(to: scene.databasePath)
        let damaged = try Data(contentsOf: URL(fileURLWithPath: scene.databasePath))
        let state = try scene.open()
        let last = state.lastSequenceNumber
        let warning = try #require(state.warnings.first)
        let name = try #require(setAsideFiles.first { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") })
        #expect(warning.hasSuffix("is set aside as \(scene.directory)/\(name)"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: scene.directory + "/" + name)) == damaged)
        #expect(try scene.reopen().lastSequenceNumber == last)
        #expect(scene.append(Groups.of(last + 1...last + 1)) == nil)
        #expect(try scene.reopen().warnings.isEmpty)
        #expect(try scene.numbers() == [last + 1])
    }

    enum Damage: CaseIterable {
        case noDatabase, short, cut, wrongPage, anotherProgram

        func apply(to path: String) throws {
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            defer { try? file.close() }
            switch self {
            case .noDatabase: try file.write(contentsOf: Data("this is no database".utf8))
            case .short: try file.truncate(atOffset: 50)
            case .cut: try file.truncate(atOffset: 16_384)
            case .wrongPage: try overwriteSchema(file)
            case .anotherProgram: try SQLiteConnection(path: path).execute("PRAGMA application_id = 7")
            }
        }

        /// Everything on the first page but the header.
        private func overwriteSchema(_ file: FileHandle) throws {
            try file.seek(toOffset: 100)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 16_284))
        }
    }

    @Test(
        "Q8: what is no damage stops the start with its message: the file stays where it is, and what it holds",
        arguments: ["DROP TABLE kept", "ALTER TABLE recent_ids RENAME COLUMN form TO shape"])
    func noDamage(_ slip: String) throws {
        try scene.open()
        scene.append(Groups.of(1...5))
        scene.close()
        try SQLiteConnection(path: scene.databasePath).execute(slip)
        let fault = #expect(throws: StoreFault.self) { try scene.open() }
        #expect(fault?.message.contains("no such") == true)
        #expect(setAsideFiles.isEmpty)
        #expect(try scene.sql("SELECT max(last_seq) FROM chunks") == 5)
    }

    @Test("Q8: a fault for which SQLite's own check finds damage is damage")
    func damageThatLooksLikeAFault() throws {
        try scene.open()
        for number in 1...50 as ClosedRange<SequenceNumber> { scene.append(Groups.of(number...number, size: 5_000)) }
        scene.close()
        try SQLiteConnection(path: scene.databasePath).execute("DROP TABLE kept")
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: scene.databasePath))
        try file.truncate(atOffset: 10 * 16_384)
        try file.close()
        #expect(try scene.open().warnings.count == 1)
        #expect(!setAsideFiles.isEmpty)
    }

    @Test("Q8: a number that no store comes to is damage: nothing is settled by it, and nothing is counted on from it")
    func impossibleNumbers() throws {
        try scene.open()
        scene.append(Groups.of(1...5))
        scene.close()
        try SQLiteConnection(path: scene.databasePath).execute(
            """
            INSERT INTO dispatchers VALUES
                (7, 'far', \(Int64.max), x'', NULL), (8, 'before', -1, x'', NULL), (5000000000, 'stranger', 3, x'', NULL);
            INSERT INTO recent_ids VALUES (\(Int64.min), 0, 1, x'', 2), (\(Int64.max), 0, 1, x'', 2);
            INSERT INTO quarantined (last_seq) VALUES (\(Int64.max));
            """)
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 5)
        #expect(state.dispatchers.map(\.id) == ["far", "before"])
        #expect(state.dispatchers.map(\.position) == [0, 0])
        #expect(state.recentIDs.isEmpty)
        #expect(state.warnings == ["what was kept of the dispatcher stranger was damaged: it starts anew"])
        #expect(try scene.reopen().warnings.isEmpty)
    }

    private var setAsideFiles: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: scene.directory)) ?? []
        return files.filter { $0.hasPrefix("events.db.damaged-") }.sorted()
    }

    @Test("Q8: several damaged files in one second get several names, and no number is given twice")
    func severalNames() throws {
        var last: SequenceNumber = -1
        for _ in 1...3 {
            let state = try scene.open()
            #expect(state.lastSequenceNumber > last)
            last = state.lastSequenceNumber + 50
            scene.append(Groups.of(state.lastSequenceNumber + 1...last))
            scene.close()
            try Damage.noDatabase.apply(to: scene.databasePath)
        }
        #expect(try scene.open().lastSequenceNumber > last)
        #expect(setAsideFiles.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.count == 3)
    }

    @Test("Q8: a damaged group is put aside and counted, and those behind it are read")
    func quarantine() throws {
        try scene.open()
        scene.append(Groups.of(1...3, newRoutes: [1: [1]]))
        scene.append(Groups.of(4...6))
        scene.append(Groups.of(7...9))
        try damageRecords(of: 6)
        #expect(try scene.numbers() == [1, 2, 3, 7, 8, 9])
        #expect(scene.quarantined == 3)
        #expect(try scene.numbers() == [1, 2, 3, 7, 8, 9])
        #expect(scene.quarantined == 3)
        #expect(try scene.sql("SELECT last_seq FROM quarantined") == 6)
    }

    @Test("Q8: a damaged group at the head or the end keeps nobody waiting, and its number is not given again")
    func quarantineAtTheEnds() throws {
        try scene.open()
        scene.append(Groups.of(1...3))
        try damageRecords(of: 3)
        #expect(try scene.read(after: 0) == nil)
        #expect(try scene.reopen().lastSequenceNumber == 3)
        scene.append(Groups.of(4...5))
        #expect(try scene.numbers() == [4, 5])
    }

    @Test("Q8: a damaged group in which a position lies is put aside at the start, and its rest is missed")
    func quarantineAtStart() throws {
        try scene.open()
        scene.write(.dispatcher(.at(2)))
        scene.append(Groups.of(1...3, newRoutes: [1: [1]]))
        scene.append(Groups.of(4...6))
        scene.close()
        try damageRecords(of: 3)
        let state = try scene.open()
        #expect(state.unsettled[1]?[1]?.events == 4)
        #expect(state.warnings.count == 1)
        #expect(try scene.numbers(after: 2) == [4, 5, 6])
        #expect(scene.quarantined == 3)
    }

    @Test(
        "Q8: a group that cannot lie where its row says is put aside at the start: what it would count is not missed by anybody",
        arguments: [2, 0, -1, 9])
    func impossibleStretch(_ first: SequenceNumber) throws {
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        scene.append(Groups.of(1...3, newRoutes: [1: [1]]))
        scene.append(Groups.of(4...6))
        scene.close()
        try scene.sql("UPDATE chunks SET first_seq = \(first) WHERE last_seq = 6")
        let state = try scene.open()
        #expect(state.unsettled[1]?[1]?.events == 3)
        #expect(state.warnings.count == 1)
        #expect(state.lastSequenceNumber == 6)
        #expect(try scene.numbers().count == 3)
        #expect(scene.quarantined == 3)
    }

    @Test("Q8: pages that cannot be read hold up neither reading nor trimming")
    func unreadablePages() throws {
        try scene.open()
        for number in 1...6 as ClosedRange<SequenceNumber> {
            scene.append(Groups.of(number...number, size: 60_000, newRoutes: number == 1 ? [1: [1]] : [:]))
        }
        scene.close()
        try breakOverflowPages()
        try scene.open()
        let read = try scene.numbers()
        #expect(!read.isEmpty && read.count < 6)
        #expect(read.count + scene.quarantined == 6)
        #expect(scene.append(Groups.of(7...8)) == nil)
        #expect(try scene.numbers(after: 6) == [7, 8])
        scene.write(.trim(through: 6))
        _ = try scene.reopenWhenIdle()
        #expect(try scene.numbers() == [7, 8])
    }

    private func damageRecords(of row: SequenceNumber) throws {
        try scene.sql(
            """
            UPDATE chunks SET records = CAST(substr(records, 1, 60) || x'ff' || substr(records, 62) AS BLOB)
            WHERE last_seq = \(row)
            """)
    }

    /// Lets the chains of some large records lead nowhere: every fourth page that is not a page of a tree.
    private func breakOverflowPages() throws {
        let url = URL(fileURLWithPath: scene.databasePath)
        var bytes = try Data(contentsOf: url)
        let starts = stride(from: 0, to: bytes.count, by: 16_384).filter { bytes[$0] == 0 }
        for (index, start) in starts.enumerated() where index.isMultiple(of: 7) {
            bytes.replaceSubrange(start..<start + 4, with: [0x7f, 0xff, 0xff, 0xff])
        }
        try bytes.write(to: url)
    }
}
