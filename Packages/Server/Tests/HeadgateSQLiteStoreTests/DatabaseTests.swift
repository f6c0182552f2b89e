import Foundation
import HeadgateCore
import HeadgateCoreTesting
import Testing

@testable import HeadgateSQLiteStore

@Suite("SQLite event store")
struct DatabaseTests {
    let scene: DatabaseScene

    init() throws {
        scene = try DatabaseScene()
    }

    @Test("Q1: the SQLite store passes the tests of every store", arguments: EventStoreConformance.checks)
    func conforms(_ check: EventStoreConformance.Check) throws {
        scene.options.isSynced = false
        try check.run(
            StoreBench(
                open: {
                    let state = try scene.open()
                    return (scene.store, state)
                }, work: scene.work,
                clear: {
                    for suffix in ["", "-wal", "-shm"] {
                        try? FileManager.default.removeItem(atPath: scene.options.path + suffix)
                    }
                }))
    }

    @Test("Q1: an event is a row, with columns that people can query")
    func columns() throws {
        try scene.open()
        scene.append(.sample(1...3, newRoutes: [1: [1]]))
        #expect(try scene.sql("SELECT count(*) FROM events") == 3)
        #expect(try scene.text("SELECT id FROM events WHERE seq = 2") == "event-2")
        #expect(try scene.text("SELECT json_extract(json, '$.event') FROM events WHERE seq = 2") == "order")
        #expect(try scene.sql("SELECT json_extract(json, '$.seq') FROM events WHERE id = 'event-3'") == 3)
        #expect(try scene.text("SELECT json_valid(json) FROM events") == "1")
    }

    @Test("Q1, Q11: written bytes are read back unchanged")
    func bytes() throws {
        try scene.open()
        let group = AppendGroup.sample(7...9, timeToLive: .milliseconds(50))
        scene.append(group)
        _ = try scene.reopen()
        let chunk = try scene.answer { scene.store.read(after: 0, then: $0) }.get()
        #expect(chunk?.bytes == group.chunk.bytes)
    }

    @Test("Q5: a group that cannot be stored affects no other group")
    func wholeOrNot() throws {
        try scene.open()
        scene.append(.sample(1...3))
        var faults: [StoreFault?] = []
        scene.store.append(.sample(4...5)) { faults.append($0) }
        // Events 2 and 3 of this group are already stored.
        scene.store.append(.sample(2...6)) { faults.append($0) }
        scene.store.append(.sample(7...8)) { faults.append($0) }
        scene.write()
        #expect(faults.map { $0 == nil } == [true, false, true])
        #expect(try scene.numbers() == [1, 2, 3, 4, 5, 7, 8])
    }

    @Test("Q8: a damaged event is skipped and counted once, and the events after it are read")
    func damagedEvent() throws {
        try scene.open()
        scene.append(.sample(1...4))
        scene.close()
        try scene.sql(#"UPDATE events SET data = '{"n":"y"}' WHERE seq = 2"#)
        try scene.open()
        for _ in 1...2 { #expect(try scene.numbers() == [1, 3, 4]) }
        #expect(scene.quarantined == 1)
    }

    @Test("Q8: unreadable pages delay no dispatcher")
    func damagedPages() throws {
        try scene.open()
        for number in 1...8 as ClosedRange<SequenceNumber> { scene.append(.sample(number...number, size: 60_000)) }
        scene.close()
        // Breaks the chains of overflow pages of some large rows.
        let url = URL(fileURLWithPath: scene.options.path)
        var bytes = try Data(contentsOf: url)
        let starts = stride(from: 0, to: bytes.count, by: 4_096).filter { bytes[$0] == 0 }
        for (index, start) in starts.enumerated() where index % 40 == 7 {
            bytes.replaceSubrange(start..<start + 4, with: [0x7f, 0xff, 0xff, 0xff])
        }
        try bytes.write(to: url)
        try scene.open()
        let read = try scene.numbers()
        #expect(!read.isEmpty && read.count < 8)
        #expect(read.count + scene.quarantined == 8)
        #expect(scene.append(.sample(9...9)) == nil)
        #expect(try scene.numbers() == read + [9])
    }

    @Test("Q8: a file that is not an event store is renamed, and no sequence number is reused")
    func setAside() throws {
        scene.options.wall = { 1_700_000_000_000 }
        try scene.open()
        scene.append(.sample(1...5))
        scene.close()
        try Data("this is no database".utf8).write(to: URL(fileURLWithPath: scene.options.path))
        let state = try scene.open()
        #expect(state.warnings.count == 1)
        #expect(state.lastSequenceNumber == 1_700_000_000_000_000)
        let names = try FileManager.default.contentsOfDirectory(atPath: scene.directory)
        #expect(names.contains { $0.hasPrefix("events.db.damaged-") })
        #expect(try scene.reopen().warnings.isEmpty)
    }

    @Test("Q11: a database of another format version is refused, and stays unchanged", arguments: [4, 6])
    func otherVersion(_ version: Int) throws {
        try scene.open()
        scene.append(.sample(1...5))
        scene.close()
        try scene.sql("PRAGMA user_version = \(version)")
        let before = try Data(contentsOf: URL(fileURLWithPath: scene.options.path))
        let fault = #expect(throws: StoreFault.self) { try scene.open() }
        #expect(fault?.message.contains("has the format \(version)") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: scene.options.path)) == before)
    }

    @Test(
        "Q8: a full database refuses appends, its events can be read, and it accepts appends again once there is room")
    func noRoom() throws {
        scene.options.mostPages = 300
        try scene.open()
        var full: SequenceNumber = 1
        while true {
            guard let fault = scene.append(.sample(full...full, size: 50_000)) else {
                full += 1
                continue
            }
            guard case .noRoom = fault else { throw fault }
            break
        }
        #expect(try scene.numbers() == Array(1..<full))
        scene.write(.trim(through: full - 1))
        scene.write()
        #expect(scene.append(.sample(full + 1...full + 1, size: 50_000)) == nil)
    }

    @Test("Q9: only the owner can read and write the files")
    func modes() throws {
        try scene.open()
        scene.append(.sample(1...1))
        for suffix in ["", "-wal", "-shm"] {
            let path = scene.options.path + suffix
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(suffix)")
        }
    }

    @Test("Q8: a removed database refuses events until a restart")
    func takenAway() throws {
        try scene.open()
        #expect(scene.append(.sample(1...3)) == nil)
        try FileManager.default.removeItem(atPath: scene.options.path)
        #expect(scene.append(.sample(4...6)) != nil)
        scene.close()
    }

    @Test("Q8, Q1: verification changes nothing, and reports whether the database has pending events or dead letters")
    func verified() throws {
        try scene.open()
        scene.write(.dispatcher(StoredDispatcher(number: 1, id: "collect", settled: Settled(through: 0))))
        scene.append(.sample(1...4, newRoutes: [1: [1]]))
        scene.close()
        try scene.sql(#"UPDATE events SET data = '{"n":"y"}' WHERE seq = 2"#)
        let before = try Data(contentsOf: URL(fileURLWithPath: scene.options.path))
        let verification = SQLiteVerification(path: scene.options.path)
        let report = try verification.run()
        #expect((report.events, report.damaged, report.deadLetters) == (3, 1, 0))
        #expect(try verification.holdsAnything())
        #expect(try Data(contentsOf: URL(fileURLWithPath: scene.options.path)) == before)
        try scene.open()
        scene.write(.settled(1, Settled(through: 4)))
        scene.close()
        #expect(try !verification.holdsAnything())
    }

    @Test("X8: a symbolic link in place of a file is not followed", arguments: ["", "-shm"])
    func link(_ suffix: String) throws {
        let target = scene.directory + "/target"
        try "mine".write(toFile: target, atomically: true, encoding: .utf8)
        symlink(target, scene.options.path + suffix)
        #expect(throws: StoreFault.self) {
            try scene.open()
            if let fault = scene.append(.sample(1...3, newRoutes: [1: [1]])) { throw fault }
        }
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
    }

    @Test("X8: in a directory that others can write to, another user's file is refused")
    func foreign() throws {
        try scene.open()
        scene.close()
        guard geteuid() == 0 else { return }
        chmod(scene.directory, 0o777)
        chown(scene.options.path, 45_001, 45_001)
        let fault = StoreFault.failed("cannot open \(scene.options.path): it is not a regular file of this user")
        #expect(throws: fault) { try scene.open() }
    }
}
