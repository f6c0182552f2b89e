import Foundation
import HeadgateCore
import Testing

@testable import HeadgateStore

@Suite("Event store: its directory")
struct StoreDirectoryTests {
    let scene = StoreScene()

    @Test("Q9: a second daemon in the same directory is refused, and the error names the first")
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

    @Test("Q9: a second daemon is refused even if the lock file was removed")
    func lockRemoved() throws {
        try scene.open()
        try FileManager.default.removeItem(atPath: scene.directory + "/headgate.lock")
        let second = StoreScene()
        second.options.directory = scene.directory
        #expect(throws: StoreFault.inUse("\(scene.directory) is used by another headgated (pid unknown)")) {
            try second.open()
        }
        #expect(scene.append(Groups.of(1...1)) == nil)
        scene.close()
        #expect(try second.open().lastSequenceNumber == 1)
        second.close()
    }

    @Test(
        "Q9: a directory is free once its store is closed, even if a program that is starting has copies of its open files"
    )
    func freeAtOnce() throws {
        try scene.open()
        let child = StartingProgram(has: scene.directory + "/headgate.lock")
        #expect(!child.descriptors.isEmpty)
        #expect(try scene.reopen().warnings.isEmpty)
        withExtendedLifetime(child) {}
    }

    @Test("Q9: only the owner can read and write the files, and missing directories are created")
    func modes() throws {
        scene.options.directory += "/deeper/still"
        try scene.open()
        scene.append(Groups.of(1...1))
        let directory = scene.options.directory
        #expect(try mode(directory) == 0o700)
        for file in ["log/000001.log", "headgate.lock"] {
            #expect(try mode(directory + "/" + file) == 0o600, "\(file)")
        }
    }

    @Test("Q9: a directory that cannot be created is an error with its cause")
    func impossible() throws {
        scene.options.directory = "/dev/null/data"
        #expect(throws: StoreFault.failed("cannot create the directory /dev/null/data: Not a directory")) {
            try scene.open()
        }
        scene.options.directory = "/dev/null"
        #expect(throws: StoreFault.self) { try scene.open() }
    }

    @Test(
        "Q11: a file of another format version is refused, and stays unchanged",
        arguments: [1, 2, 3, 4, 6] as [UInt8])
    func otherVersion(_ version: UInt8) throws {
        try scene.open()
        scene.append(Groups.of(1...5))
        scene.close()
        let url = URL(fileURLWithPath: scene.options.logDirectory + "/000001.log")
        var bytes = try Data(contentsOf: url)
        bytes[8] = version
        try bytes.write(to: url)
        let fault = try #require(throws: StoreFault.self) { try scene.open() }
        guard case .newerVersion(let message) = fault else {
            Issue.record("\(fault)")
            return
        }
        #expect(message.contains("format \(version)") && message.contains("this one knows 5"))
        #expect(try Data(contentsOf: url) == bytes)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scene.directory).sorted() == ["headgate.lock", "log"])
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }
}
