import Foundation
import Testing

@testable import HeadgateTransport

@Suite("Files of a program's own")
struct OwnFileTests {
    private func folder() throws -> String {
        let path = NSTemporaryDirectory() + "own-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    @Test("X8: a symbolic link is not opened for writing, and its target stays as it was", arguments: [true, false])
    func link(isMissing: Bool) throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (target, link) = (folder + "/target", folder + "/state")
        if !isMissing { try "mine".write(toFile: target, atomically: true, encoding: .utf8) }
        symlink(target, link)
        #expect(OwnFile.open(link) == -1)
        let file = OwnFile.create(link)
        #expect(file >= 0)
        #expect(write(file, "new", 3) == 3)
        close(file)
        #expect(FileManager.default.fileExists(atPath: target) == !isMissing)
        if !isMissing { #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine") }
        #expect(try String(contentsOfFile: link, encoding: .utf8) == "new")
    }

    @Test("X8: a named pipe is refused without blocking")
    func pipe() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        mkfifo(folder + "/pipe", 0o600)
        #expect(OwnFile.open(folder + "/pipe") == -1)
    }

    @Test("X8: a file of another user is refused", .enabled(if: geteuid() == 0))
    func foreign() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "theirs".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
        chown(folder + "/file", 45_001, 45_001)
        #expect(OwnFile.open(folder + "/file") == -1 && errno == EPERM)
        #expect(!OwnFile.isInSharedDirectory(folder + "/file"))
        chmod(folder, 0o777)
        #expect(OwnFile.isInSharedDirectory(folder + "/file"))
        chmod(folder, 0o700)
        chown(folder, 45_001, 45_001)
        #expect(OwnFile.isInSharedDirectory(folder + "/file"))
    }
}
