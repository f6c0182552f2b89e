import Foundation
import HeadgateTransport
import Testing

@testable import HeadgateCommands

/// Tests the reports of changes of a followed file.
@Suite(.timeLimit(.minutes(5))) struct FileNewsTests {
    /// Runs a loop until a change of a file is reported.
    private func expectNews(_ change: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/log"
        try Data("one\n".utf8).write(to: URL(filePath: path))
        let loop = try EventLoop()
        let news = try #require(FileChanges(on: loop) { loop.stop() })
        news.watchFolder(of: path)
        news.watchFile(try #require(try FollowedFile(path)))
        #expect(news.isWatchingFile)
        try change(path)
        // Without a report the call would not return.
        loop.run()
    }

    @Test("A line that is written, and a file that is emptied, are reported")
    func contents() throws {
        try expectNews { path in
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.seekToEnd()
            try file.write(contentsOf: Data("two\n".utf8))
        }
        try expectNews { #expect(truncate($0, 0) == 0) }
    }

    @Test("That a file is renamed, or another one appears, is reported")
    func names() throws {
        try expectNews { try FileManager.default.moveItem(atPath: $0, toPath: $0 + ".1") }
        try expectNews { try Data().write(to: URL(filePath: $0 + ".2")) }
    }
}
