import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("SQLite event store: its directory")
struct StoreDirectoryTests {
    let scene = StoreScene()

    @Test("Q9: a second daemon in the same directory is refused, and told who is there")
    func oneOnly() throws {
        try scene.open()
        let second = StoreScene()
        second.options.directory = scene.directory
        #expect(throws: StoreFault.inUse("\(scene.directory) is used by another headgated (pid \(getpid()))")) {
            try second.open()
        }
        #expect(scene.append(Groups.of(1...1)) == nil)
        scene.close()
        #expect(try second.open().lastSequenceNumber == 1)
        second.close()
    }

    @Test("Q9: a directory is free when its store is closed, though a program that is just starting has its files")
    func freeAtOnce() throws {
        try scene.open()
        let child = StartingProgram(has: scene.directory + "/headgate.lock")
        #expect(!child.descriptors.isEmpty)
        #expect(try scene.reopen().warnings.isEmpty)
        withExtendedLifetime(child) {}
    }

    @Test("Q9: files are the owner's alone, and a missing directory is made, with those above it")
    func modes() throws {
        scene.options.directory += "/deeper/still"
        try scene.open()
        scene.append(Groups.of(1...1))
        let directory = scene.options.directory
        #expect(try mode(directory) == 0o700)
        for file in ["events.db", "events.db-wal", "events.db-shm", "headgate.lock"] {
            #expect(try mode(directory + "/" + file) == 0o600, "\(file)")
        }
    }

    @Test("Q9: a file that others may read is closed to them")
    func modeIsRepaired() throws {
        try scene.open()
        scene.close()
        #expect(chmod(scene.databasePath, 0o644) == 0)
        try scene.open()
        #expect(try mode(scene.databasePath) == 0o600)
    }

    @Test("Q9: a directory that cannot be is a fault that says why")
    func impossible() throws {
        scene.options.directory = "/dev/null/data"
        #expect(throws: StoreFault.failed("cannot make the directory /dev/null/data: Not a directory")) {
            try scene.open()
        }
        scene.options.directory = "/dev/null"
        #expect(throws: StoreFault.self) { try scene.open() }
    }

    @Test("Q8: data of a newer version are refused, and not a byte of them is touched", arguments: [true, false])
    func newerVersion(_ isInLog: Bool) throws {
        try scene.open()
        scene.append(Groups.of(1...5))
        scene.close()
        let files = isInLog ? try writtenInLog() : try written()
        let fault = try #require(throws: StoreFault.self) { try scene.open() }
        guard case .newerVersion(let message) = fault else {
            Issue.record("\(fault)")
            return
        }
        #expect(message.contains("version \(newer)"))
        for (path, bytes) in files { #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes) }
    }

    private var newer: UInt32 { StoreSchema.version + 1 }

    private func written() throws -> [String: Data] {
        try scene.sql("PRAGMA user_version = \(newer)")
        return [scene.databasePath: try Data(contentsOf: URL(fileURLWithPath: scene.databasePath))]
    }

    /// The newer version was killed: what it wrote is in its log only.
    private func writtenInLog() throws -> [String: Data] {
        let connection = try SQLiteConnection(path: scene.databasePath)
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA user_version = \(newer)")
        connection.closeWithoutCheckpoint()
        let paths = [scene.databasePath, scene.databasePath + "-wal"]
        return Dictionary(
            uniqueKeysWithValues: try paths.map { ($0, try Data(contentsOf: URL(fileURLWithPath: $0))) })
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
