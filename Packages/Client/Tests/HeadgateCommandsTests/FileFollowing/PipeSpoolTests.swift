import Foundation
import Testing

@testable import HeadgateCommands

/// Tests that the data of a pipe is moved to its spool.
@Suite(.timeLimit(.minutes(5))) struct PipeSpoolTests {
    private final class Stage {
        let folder: String
        let pipe: String
        let spool: String
        let terminal = Terminal(
            input: 0, showsProgress: false, style: Style(isColoured: false), output: { _ in }, errors: { _ in })

        init() throws {
            folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            (pipe, spool) = (folder + "/pipe", folder + "/lines")
            try #require(mkfifo(pipe, 0o600) == 0)
        }

        deinit {
            try? FileManager.default.removeItem(atPath: folder)
        }

        func open(longest: Int? = nil) throws -> PipeSpool {
            try PipeSpool(spool, of: pipe, longest: longest, terminal)
        }

        /// Writes a text that the pipe has room for.
        func write(_ text: String) {
            let descriptor = Glibc.open(pipe, O_RDWR | O_CLOEXEC)
            #expect(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
            // Closing loses nothing while another process has the pipe open.
            close(descriptor)
        }

        /// Returns the text of the spool once it has this length. Ends the test after a minute.
        func text(of length: Int) throws -> String {
            var data = Data()
            for _ in 0..<6_000 {
                data = FileManager.default.contents(atPath: spool) ?? Data()
                if data.count >= length { break }
                usleep(10_000)
            }
            try #require(data.count >= length)
            return String(decoding: data, as: UTF8.self)
        }
    }

    @Test("X8: a spool is not opened through a symbolic link", arguments: [true, false])
    func link(isMissing: Bool) throws {
        let stage = try Stage()
        let target = stage.folder + "/target"
        if !isMissing { try Data("mine".utf8).write(to: URL(filePath: target)) }
        symlink(target, stage.spool)
        #expect(throws: FollowFault.self) { try stage.open() }
        #expect(FileManager.default.contents(atPath: target) == (isMissing ? nil : Data("mine".utf8)))
    }

    @Test("No byte is read before a request, then all of them; none after a stop")
    func moves() throws {
        let stage = try Stage()
        let spool = try stage.open()
        stage.write("one\ntw")
        #expect(spool.isEmpty)
        spool.read()
        #expect(try stage.text(of: 6) == "one\ntw")
        stage.write("o\n")
        #expect(try stage.text(of: 8) == "one\ntwo\n")
        spool.stop()
        spool.read()
        stage.write("three\n")
        #expect(try stage.text(of: 8) == "one\ntwo\n")
    }

    @Test("A full spool takes no more than the rest of a line, and more once it was emptied")
    func full() throws {
        let stage = try Stage()
        let spool = try stage.open(longest: 5)
        spool.read()
        stage.write("one\ntwo")
        #expect(try stage.text(of: 7) == "one\ntwo")
        stage.write(", three\nfour\n")
        #expect(try stage.text(of: 15) == "one\ntwo, three\n")
        #expect(try !spool.empty(doneWith: 14, shortest: 5))
        #expect(try stage.text(of: 15) == "one\ntwo, three\n")
        // A full spool is emptied even below the usual length, because it takes no more before.
        #expect(try spool.empty(doneWith: 15, shortest: 16))
        #expect(try stage.text(of: 5) == "four\n")
    }

    @Test("A limit for the size of files leaves room for a move and for the rest of a line")
    func fileSize() {
        #expect(PipeSpool.longest(fileSize: .max) == 64 << 20)
        #expect(PipeSpool.longest(fileSize: 4 << 20) == 1 << 20)
        #expect(PipeSpool.longest(fileSize: 0) == 1)
    }

    @Test("A spool that may still grow is emptied from a length on")
    func short() throws {
        let stage = try Stage()
        let spool = try stage.open()
        spool.read()
        stage.write("one\n")
        #expect(try stage.text(of: 4) == "one\n")
        #expect(try !spool.empty(doneWith: 4, shortest: 5))
        #expect(try spool.empty(doneWith: 4, shortest: 4))
    }

    @Test("A kill after a spool was emptied and before the new position is kept starts a new spool")
    func killedBetween() throws {
        let stage = try Stage()
        let spool = try stage.open()
        spool.read()
        stage.write("one\n")
        _ = try stage.text(of: 4)
        let file = try #require(try FollowedFile(stage.spool))
        var position = FollowerPosition(file.identity, prefix: "p")
        position.advance(over: Array("one\n".utf8))
        position.seen = file.shape
        #expect(try file.isStill(position))
        #expect(try spool.empty(doneWith: 4, shortest: 4))
        #expect(position.isReplaced(by: file.shape))
        // The next process finds this, and reads nothing before the check.
        #expect(try spool.isEmpty && !file.isStill(position))
        // The same line at the same position shows why the check must come first.
        stage.write("one\n")
        _ = try stage.text(of: 4)
        #expect(try file.isStill(position))
    }

    @Test("A spool is its owner's alone to read")
    func owned() throws {
        let stage = try Stage()
        let spool = try stage.open()
        var status = stat()
        #expect(stat(stage.spool, &status) == 0 && status.st_mode & 0o777 == 0o600)
        spool.stop()
    }

    @Test("A pipe is followed with a spool, and so is a missing one that had a spool")
    func needed() throws {
        let stage = try Stage()
        #expect(PipeSpool.isNeeded(for: stage.pipe, spools: [stage.spool]))
        #expect(!PipeSpool.isNeeded(for: stage.folder + "/none", spools: [stage.spool]))
        _ = try stage.open()
        #expect(PipeSpool.isNeeded(for: stage.folder + "/none", spools: [stage.spool]))
        #expect(!PipeSpool.isNeeded(for: stage.spool, spools: [stage.spool]))
    }
}
