import Foundation
import HeadgateTransport
import Testing

@testable import HeadgateServer

/// Tests the file of a `file` dispatcher without its sender, with a manual clock.
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
        Array("{\"id\":\(number)}\n".utf8)
    }

    @Test("P5: the incomplete last line of a killed process is removed, because its event is sent again")
    func halfLine() throws {
        try folder.write("{\"id\":0}\n{\"id\":\"e1\",\"seq", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":0}\n{\"id\":1}\n")
    }

    @Test(
        "K2: an incomplete JSON object at the end of the file is removed, even if another program wrote it",
        arguments: ["{", "{\"half", "{\"half\":", "{\"event\": \"a\", \"data\": {", "{\"a\":[1,"])
    func otherHalfLine(half: String) throws {
        try folder.write("{\"id\":0}\n" + half, to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":0}\n{\"id\":1}\n")
    }

    @Test("P5: a file that holds only an incomplete line is emptied, even if the line is long")
    func onlyHalfLine() throws {
        try folder.write("{\"id\":\"" + String(repeating: "x", count: 200_000), to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":1}\n")
    }

    @Test("K2: complete lines stay, and so does a last line that is not an event")
    func foreignLine() throws {
        try folder.write("{\"id\":0}\n", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":0}\n{\"id\":1}\n")
        try folder.write("# notes", to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "# notes\n{\"id\":1}\n")
    }

    @Test("K2: a file is rotated before it exceeds its limit; `keep` rotated files stay")
    func rotationBySize() throws {
        let file = file(rotateBytes: 18, keep: 2)
        for number in 0..<9 { try file.append(line(number)) }
        #expect(folder.names == ["events", "events.1", "events.2"])
        #expect(folder.text(of: "events") == "{\"id\":8}\n")
        #expect(folder.text(of: "events.1") == "{\"id\":6}\n{\"id\":7}\n")
        #expect(folder.text(of: "events.2") == "{\"id\":4}\n{\"id\":5}\n")
    }

    @Test("K2: a batch larger than the limit has a file of its own")
    func largeBatch() throws {
        let file = file(rotateBytes: 4)
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.text(of: "events.2") == "{\"id\":0}\n")
        #expect(folder.text(of: "events.1") == "{\"id\":1}\n")
        #expect(folder.text(of: "events") == "{\"id\":2}\n")
    }

    @Test("K2: with a `keep` of 0 no rotated file stays")
    func keepNone() throws {
        let file = file(rotateBytes: 8, keep: 0)
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.names == ["events"])
        #expect(folder.text(of: "events") == "{\"id\":2}\n")
    }

    @Test("K2: after `keep` was lowered a rotation removes the surplus files; a gap in their numbers is filled first")
    func smallerKeep() throws {
        for number in [1, 3, 4, 5] { try folder.write("{\"id\":\(number)}\n", to: "events.\(number)") }
        try folder.write("{\"id\":0}\n", to: "events")
        try file(rotateBytes: 8, keep: 3).append(line(1))
        #expect(folder.names == ["events", "events.1", "events.2", "events.3"])
        #expect(folder.text(of: "events.2") == "{\"id\":1}\n")
        #expect(folder.text(of: "events.3") == "{\"id\":3}\n")
    }

    @Test("K2: a file that the dispatcher did not write is not renamed by a rotation, and keeps its content")
    func foreignFiles() throws {
        try folder.write("precious\n", to: "events.1")
        try folder.write("{\"settings\": 1}\n", to: "events.4")
        let file = file(rotateBytes: 9, keep: 2)
        for number in 0..<5 { try file.append(line(number)) }
        #expect(folder.text(of: "events.1") == "precious\n")
        #expect(folder.text(of: "events.4") == "{\"settings\": 1}\n")
        #expect(folder.text(of: "events.2") == "{\"id\":3}\n")
        #expect(folder.text(of: "events.3") == "{\"id\":2}\n")
        #expect(folder.names == ["events", "events.1", "events.2", "events.3", "events.4"])
    }

    @Test("K2: a file that existed before the dispatcher is renamed instead of deleted, even with a `keep` of 0")
    func foreignCurrent() throws {
        try folder.write("precious\n", to: "events")
        let file = file(rotateBytes: 9, keep: 0)
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.text(of: "events.1") == "precious\n")
        #expect(folder.names == ["events", "events.1"])
    }

    @Test(
        "K2: a last line that is not an incomplete event stays, and a line feed is added to it",
        arguments: [
            "{\"id\":0}", "{\"log_format\": \"json\"}", "{}", "[1]", "7", "}", "text", "{\"a\":1}{\"b\":2}",
            "{\"dispatchers\": {} /* none */}",
        ])
    func wholeLine(line last: String) throws {
        try folder.write("{\"id\":0}\n" + last, to: "events")
        try file().append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":0}\n\(last)\n{\"id\":1}\n")
    }

    @Test("K2: the target of a symbolic link is written and rotated in its own folder, even when the link is removed")
    func link() throws {
        try FileManager.default.createDirectory(atPath: folder("volume"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder("events"), withDestinationPath: "volume/real")
        let file = file(rotateBytes: 9, keep: 2)
        for number in 0..<2 { try file.append(line(number)) }
        try FileManager.default.removeItem(atPath: folder("events"))
        try file.append(line(2))
        #expect(folder.text(of: "volume/real") == "{\"id\":2}\n")
        #expect(folder.text(of: "volume/real.1") == "{\"id\":1}\n")
        #expect(folder.text(of: "volume/real.2") == "{\"id\":0}\n")
        #expect(folder.names == ["volume"])
    }

    @Test(
        "X8: in a directory that others can write to, another user's file is not written", .enabled(if: geteuid() == 0))
    func foreignFile() throws {
        chmod(folder.path, 0o777)
        try folder.write("theirs\n", to: "events")
        chown(folder("events"), 45_001, 45_001)
        #expect(throws: FileFault.self) { try file().append(line(0)) }
        #expect(folder.text(of: "events") == "theirs\n")
    }

    @Test("X8: a symbolic link in a directory that others can write to is not followed, as the file or as a folder")
    func sharedLink() throws {
        try FileManager.default.createDirectory(atPath: folder("volume"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder("events"), withDestinationPath: "volume/real")
        try FileManager.default.createSymbolicLink(atPath: folder("logs"), withDestinationPath: "volume")
        chmod(folder.path, 0o1777)
        for path in ["events", "logs/real"] {
            let file = EventFile(FileSettings(path: folder(path), keep: 0)) { 0 }
            #expect(throws: FileFault.self) { try file.append(line(0)) }
        }
        #expect(folder.text(of: "volume/real") == nil)
        // When only the owner can write to the directory, the same link is followed.
        chmod(folder.path, 0o700)
        try file().append(line(1))
        #expect(folder.text(of: "volume/real") == "{\"id\":1}\n")
    }

    @Test("P7: a file is rotated when it is old enough by the monotonic clock, unless it is empty")
    func rotationByAge() throws {
        let file = file(rotateAge: .seconds(60))
        try file.append(line(0))
        clock.advance(by: .seconds(59))
        try file.append(line(1))
        clock.advance(by: .seconds(2))
        try file.append(line(2))
        #expect(folder.names == ["events", "events.1"])
        #expect(folder.text(of: "events") == "{\"id\":2}\n")
        #expect(folder.text(of: "events.1") == "{\"id\":0}\n{\"id\":1}\n")
    }

    @Test("K2: a file that was moved or removed is created again", arguments: [true, false])
    func moved(isRemoved: Bool) throws {
        let file = file()
        try file.append(line(0))
        #expect((isRemoved ? unlink(folder("events")) : rename(folder("events"), folder("moved"))) == 0)
        try file.append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":1}\n")
        #expect(folder.text(of: "moved") == (isRemoved ? nil : "{\"id\":0}\n"))
    }

    @Test("K2: a file that another program emptied is written from its beginning")
    func emptied() throws {
        let file = file()
        try file.append(line(0))
        #expect(truncate(folder("events"), 0) == 0)
        try file.append(line(1))
        #expect(folder.text(of: "events") == "{\"id\":1}\n")
    }

    @Test("Q8: a write to a full device fails, and the error says that the device is full")
    func fullDevice() throws {
        #expect(symlink("/dev/full", folder("events")) == 0)
        let file = file(rotateBytes: 1)
        #expect(throws: FileFault(cause: "no space left on device")) { try file.append(line(0)) }
        #expect(throws: FileFault(cause: "no space left on device")) { try file.append(line(0)) }
    }

    @Test("K2: /dev/null accepts all events, and is neither rotated nor synced")
    func nullDevice() throws {
        #expect(symlink("/dev/null", folder("events")) == 0)
        let file = file(rotateBytes: 1, rotateAge: .nanoseconds(1))
        for number in 0..<3 { try file.append(line(number)) }
        #expect(folder.names == ["events"])
    }

    @Test("K2: a named pipe is written to while it has a reader")
    func pipe() throws {
        #expect(mkfifo(folder("events"), 0o600) == 0)
        let file = file()
        #expect(throws: FileFault(cause: "the pipe has no reader")) { try file.append(line(0)) }
        let reader = open(folder("events"), O_RDONLY | O_NONBLOCK)
        try file.append(line(1))
        #expect(PipeReader.contents(of: reader) == "{\"id\":1}\n")
        close(reader)
        ProcessSignals.ignoreWriteSignals()
        #expect(throws: FileFault(cause: "the pipe has no reader")) { try file.append(line(2)) }
    }

    @Test("K2: a path that names a directory is refused")
    func directory() throws {
        try FileManager.default.createDirectory(atPath: folder("events"), withIntermediateDirectories: false)
        #expect(throws: FileFault(cause: "is a directory")) { try file().append(line(0)) }
    }

    @Test("Q8: a write that fails midway leaves no incomplete line; writing succeeds when there is room again")
    func failureMidway() throws {
        try LargestFile.make(at: folder("events"), leaving: 10)
        let file = file()
        let size = try folder.size(of: "events")
        #expect(throws: FileFault(cause: "file too large")) { try file.append(line(0) + line(1)) }
        #expect(try folder.size(of: "events") == size)
        try file.append(line(1))
        #expect(try folder.size(of: "events") == size + line(1).count)
    }
}
