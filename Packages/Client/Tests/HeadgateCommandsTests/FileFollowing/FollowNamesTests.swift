import Foundation
import Testing

@testable import HeadgateCommands

/// Tests which files a pattern matches.
@Suite struct FollowNamesTests {
    private func folder(_ files: String...) throws -> String {
        let path = NSTemporaryDirectory() + "hg-names-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for file in files { _ = FileManager.default.createFile(atPath: "\(path)/\(file)", contents: nil) }
        return path
    }

    @Test("A pattern matches regular files, without rotated and compressed ones")
    func matches() throws {
        let path = try folder("a.log", "a.log.1", "a.log.2.gz", "b.log", "b.log-old", "c.txt")
        defer { try? FileManager.default.removeItem(atPath: path) }
        try FileManager.default.createDirectory(atPath: path + "/d.log", withIntermediateDirectories: true)
        let names = FollowNames(["\(path)/*.log*", "\(path)/a.*"])
        #expect(names.paths.isEmpty && names.patterns.count == 2 && !names.isSingle)
        #expect(names.newFiles(besides: [], []).map { $0.dropFirst(path.count) } == ["/a.log", "/b.log", "/b.log-old"])
    }

    @Test("Files that are followed already, also under another name, are not new")
    func known() throws {
        let path = try folder("a.log", "b.log")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let names = FollowNames(["\(path)/*"])
        let second = try #require(FollowedFile.identity(of: path + "/b.log"))
        #expect(names.newFiles(besides: ["\(path)/a.log"], [second]).isEmpty)
        // The followed file was rotated: its follower reads it under its new name.
        try FileManager.default.moveItem(atPath: path + "/a.log", toPath: path + "/a.log.1")
        #expect(names.newFiles(besides: ["\(path)/a.log"], []) == ["\(path)/b.log"])
    }

    @Test("A name with wildcards is a path if such a file exists; any other name is a path")
    func paths() throws {
        let path = try folder("a[1].log")
        defer { try? FileManager.default.removeItem(atPath: path) }
        let names = FollowNames(["\(path)/a[1].log", "/nowhere/x.log", "/nowhere/x.log"])
        #expect(names.paths == ["\(path)/a[1].log", "/nowhere/x.log"] && names.patterns.isEmpty)
        #expect(FollowNames(["/nowhere/x.log"]).isSingle && !FollowNames(["/nowhere/*.log"]).isSingle)
    }
}
