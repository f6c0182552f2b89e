import Foundation
import Testing

@testable import HeadgateCommands

/// Tests which files beside a followed one are rotated files.
@Suite struct RotatedFilesTests {
    private func files(_ names: [(String, modified: Int)]) -> RotatedFiles {
        RotatedFiles(
            of: "log",
            names.enumerated().map { index, name in
                .init(suffix: name.0, file: .init(device: 1, inode: index), modified: name.modified)
            })
    }

    /// Returns the suffixes of the files that were renamed after the first one.
    private func since(_ names: [(String, modified: Int)]) -> [String] {
        files(names).since(.init(device: 1, inode: 0), modified: 0).map(\.suffix)
    }

    @Test("Files that were written to later than the followed one count, the oldest first")
    func order() {
        #expect(since([(".3", 30), ("", 60), (".1", 50), (".2", 40), (".4", 20)]) == [".2", ".1"])
        #expect(since([(".1", 30), ("", 60), (".3", 50), (".2", 40)]) == [".2", ".3"])
        #expect(since([("-20260302", 30), ("-20260303", 40), ("-20260301", 20), ("", 60)]) == ["-20260303"])
        let dates = [(".old", modified: 30), (".2026-03-01_10", 50), (".2026-03-01.2", 40)]
        #expect(since(dates) == [".2026-03-01.2", ".2026-03-01_10"])
    }

    @Test("Of two files of one time the one with the higher number, or with the earlier date, is older")
    func ties() {
        #expect(since([(".10", 7), (".9", 7), (".11", 7), (".1", 7)]) == [".9", ".1"])
        #expect(since([("-20260302", 7), ("-20260303", 7), ("-20260301", 7)]) == ["-20260303"])
    }

    @Test("A name counts if it continues with digits and the characters between them")
    func names() {
        let others = ["", ".bak", ".headgate", ".headgate-lines", "2", "s.1", ".1~", "-", ".1.bak", ".1a"]
        #expect(since([(".9", 1)] + others.map { ($0, 5) }).isEmpty)
    }

    @Test("A compressed file counts, unless it is being compressed")
    func compressed() {
        #expect(since([(".3", 1), (".2.gz", 2), (".1", 3), (".1.gz", 9), ("", 9)]) == [".2.gz", ".1"])
    }

    @Test("A file without a name is one that was written to later than the named ones")
    func nameless() {
        let files = files([(".1", 5), (".2", 4), (".3.gz", 3)])
        #expect(files.since(.init(device: 1, inode: 9), modified: 3).map(\.suffix) == [".2", ".1"])
        #expect(files.path(of: .init(device: 1, inode: 9)) == nil)
        #expect(files.path(of: .init(device: 1, inode: 1)) == "log.2")
    }

    @Test(
        "A compressed file with the inode of the followed file is not that file",
        arguments: [".gz", ".zst"])
    func recycled(ending: String) {
        let files = files([(".1" + ending, 5), ("", 6)])
        #expect(files.path(of: .init(device: 1, inode: 0)) == nil)
        #expect(files.path(of: .init(device: 1, inode: 1)) == "log")
        #expect(files.path(of: .init(device: 2, inode: 1)) == nil)
    }

    @Test("A folder is read for the files whose names begin so")
    func folder() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder + "/log.d", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["log", "log.1", "other"] { try Data("\n".utf8).write(to: URL(filePath: folder + "/" + name)) }
        let files = try RotatedFiles(beside: folder + "/log")
        #expect(Set(files.entries.map(\.suffix)) == ["", ".1"])
        let moment = Date().timeIntervalSince1970 * 1e9
        #expect(files.entries.allSatisfy { abs(Double($0.modified) - moment) < 3_600e9 })
        #expect(throws: FollowFault.self) { try RotatedFiles(beside: folder + "/none/log") }
    }
}
