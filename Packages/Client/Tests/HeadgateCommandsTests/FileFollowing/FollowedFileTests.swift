import Foundation
import Testing

@testable import HeadgateCommands

/// Tests which changes of a file its open descriptor shows.
@Suite struct FollowedFileTests {
    private func withFile(_ text: String, _ body: (String, FollowedFile) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path, try #require(try FollowedFile(path)))
    }

    private func expectEmptied(
        _ wasEmptied: Bool, _ file: FollowedFile, at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try file.wasEmptied()
        #expect(found == wasEmptied, sourceLocation: location)
    }

    private func open(_ path: String, _ flags: Int32, _ text: String) {
        let descriptor = Glibc.open(path, O_WRONLY | flags)
        #expect(write(descriptor, text, text.utf8.count) == text.utf8.count)
        close(descriptor)
    }

    @Test("L4: an emptied file is detected, even if the same text and more was written at once")
    func emptied() throws {
        try withFile("one\n") { path, file in
            file.watchBeginning()
            try expectEmptied(false, file)
            open(path, O_APPEND, "two\n")
            try expectEmptied(false, file)
            open(path, O_TRUNC, "one\ntwo\nthree\n")
            try expectEmptied(true, file)
            file.watchBeginning()
            try expectEmptied(false, file)
        }
    }

    @Test("A file is identified by its first bytes once it has some; a hole at its start does not count")
    func beginning() throws {
        try withFile("") { path, file in
            file.watchBeginning()
            open(path, O_APPEND, String(repeating: "line\n", count: 2_000))
            file.watchBeginning()
            try expectEmptied(false, file)
            open(path, O_TRUNC, "\0\0line\n")
            try expectEmptied(false, file)
        }
    }

    @Test("Data after a hole is found without reading the hole")
    func hole() throws {
        try withFile("") { path, file in
            let writer = try #require(FileHandle(forWritingAtPath: path))
            try writer.seek(toOffset: 1 << 30)
            try writer.write(contentsOf: Data("line\n".utf8))
            let data = file.nextData(from: 0)
            #expect(data > (1 << 30) - (1 << 20) && data <= 1 << 30)
            #expect(file.nextData(from: (1 << 30) + 2) == (1 << 30) + 2)
            #expect(file.nextData(from: (1 << 30) + 5) == (1 << 30) + 5)
        }
    }
}
