import Foundation
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// A dispatcher's file by itself, with a clock that stands still.
@Suite("file dispatcher: the file")
struct EventFileTests {
    private let folder: ScratchFolder
    private let clock = ManualNanoseconds()

    init() throws {
        folder = try ScratchFolder()
    }

    private func file(rotateBytes: Int? = nil, rotateAge: Duration? = nil, keep: Int = 5) -> EventFile {
        let settings = FileSettings(
            path: folder("events"), rotateBytes: rotateBytes, rotateAge: rotateAge, keep: keep)
        return EventFile(settings) { [clock] in clock.now }
    }

    private func line(_ number: Int) -> [UInt8] {
        Array("{\"n\":\(number)}\n".utf8)
    }

    @Test("P5: a half line of a killed process is cut away, since it comes again")
    func halfLine() throws {
        try folder.write("{\"n\":0}\n{\"n\":1", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"n\":0}\n{\"n\":1}\n")
    }

    @Test("P5: so is a file that is nothing but a half line, however long")
    func onlyHalfLine() throws {
        try folder.write("{" + String(repeating: "x", count: 200_000), to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"n\":1}\n")
    }

    @Test("K2: whole lines stay, and so does a last line that is no event")
    func foreignLine() throws {
        try folder.write("{\"n\":0}\n", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"n\":0}\n{\"n\":1}\n")
        try folder.write("# notes", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "# notes\n{\"n\":1}\n")
    }

    @Test("K2: a file is rotated before it would become too large; `keep` rotated ones stay")
    func rotationBySize() throws {
        let file = file(rotateBytes: 16, keep: 2)
        for number in 0..<9 { try file.append(line(number)) }
        #expect(folder.names == ["events", "events.1", "events.2"])
        #expect(folder.text(of: "events") == "{\"n\":8}\n")
        #expect(folder.text(of: "events.1") == "{\"n\":6}\n{\"n\":7}\n")
        #expect(folder.text(of: "events.2") == "{\"n\":4}\n{\"n\":5}\n")
    }

    @Test("K2: a batch larger than the limit has a file of its own")
    func largeBatch() throws {
        let file = file(rotateBytes: 4)
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.text(of: "events.2") == "{\"n\":0}\n")
        #expect(folder.text(of: "events.1") == "{\"n\":1}\n")
        #expect(folder.text(of: "events") == "{\"n\":2}\n")
    }

    @Test("K2: with a `keep` of 0 no rotated file stays")
    func keepNone() throws {
        let file = file(rotateBytes: 8, keep: 0)
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.names == ["events"])
        #expect(folder.text(of: "events") == "{\"n\":2}\n")
    }

    @Test("K2: a smaller `keep` than before removes what is too many; a gap is filled first")
    func smallerKeep() throws {
        for number in [1, 3, 4, 5] { try folder.write("old \(number)", to: "events.\(number)") }
        try folder.write("{}\n", to: "events")
        try file(rotateBytes: 8, keep: 3).append(line(1))
        #expect(folder.names == ["events", "events.1", "events.2", "events.3"])
        #expect(folder.text(of: "events.2") == "old 1")
        #expect(folder.text(of: "events.3") == "old 3")
    }

    @Test("P7: a file is rotated when it is old enough by the monotonic clock, and only if there is something in it")
    func rotationByAge() throws {
        let file = file(rotateAge: .seconds(60))
        try file.append(line(0))
        clock.advance(by: .seconds(59))
        try file.append(line(1))
        clock.advance(by: .seconds(2))
        try file.append(line(2))
        #expect(folder.names == ["events", "events.1"])
        #expect(folder.text(of: "events") == "{\"n\":2}\n")
        #expect(folder.text(of: "events.1") == "{\"n\":0}\n{\"n\":1}\n")
    }

    @Test("K2: a file that was moved or removed is made anew", arguments: [true, false])
    func moved(isRemoved: Bool) throws {
        let file = file()
        try file.append(line(0))
        #expect((isRemoved ? unlink(folder("events")) : rename(folder("events"), folder("moved"))) == 0)
        try file.append(line(1))
        #expect(folder.text(of: "events") == "{\"n\":1}\n")
        #expect(folder.text(of: "moved") == (isRemoved ? nil : "{\"n\":0}\n"))
    }

    @Test("K2: a file that somebody emptied is appended to from its beginning")
    func emptied() throws {
        let file = file()
        try file.append(line(0))
        #expect(truncate(folder("events"), 0) == 0)
        try file.append(line(1))
        #expect(folder.text(of: "events") == "{\"n\":1}\n")
    }

    @Test("Q8: a full device says so")
    func fullDevice() throws {
        #expect(symlink("/dev/full", folder("events")) == 0)
        let file = file(rotateBytes: 1)
        #expect(throws: FileFault(cause: "no space left on device")) { try file.append(line(0)) }
        #expect(throws: FileFault(cause: "no space left on device")) { try file.append(line(0)) }
    }

    @Test("K2: /dev/null takes everything, and is neither rotated nor synced")
    func nullDevice() throws {
        #expect(symlink("/dev/null", folder("events")) == 0)
        let file = file(rotateBytes: 1, rotateAge: .nanoseconds(1))
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.names == ["events"])
    }

    @Test("K2: a pipe is written to while somebody reads it")
    func pipe() throws {
        #expect(mkfifo(folder("events"), 0o600) == 0)
        let file = file()
        #expect(throws: FileFault(cause: "nobody reads the pipe")) { try file.append(line(0)) }
        let reader = open(folder("events"), O_RDONLY | O_NONBLOCK)
        try file.append(line(1))
        #expect(PipeReader.contents(of: reader) == "{\"n\":1}\n")
        close(reader)
        ProgramStart.ignoreWriteSignals()
        #expect(throws: FileFault(cause: "nobody reads the pipe")) { try file.append(line(2)) }
    }

    @Test("K2: a directory is no file")
    func directory() throws {
        try FileManager.default.createDirectory(atPath: folder("events"), withIntermediateDirectories: false)
        #expect(throws: FileFault(cause: "is a directory")) { try file().append(line(0)) }
    }

    @Test("Q8: a write that fails midway leaves no half line, and room that comes back is used")
    func failureMidway() throws {
        try LargestFile.make(at: folder("events"), leaving: 10)
        let file = file()
        let size = try folder.size(of: "events")
        #expect(throws: FileFault(cause: "file too large")) { try file.append(line(0) + line(1)) }
        #expect(try folder.size(of: "events") == size)
        try file.append(line(1))
        #expect(try folder.size(of: "events") == size + 8)
    }
}
