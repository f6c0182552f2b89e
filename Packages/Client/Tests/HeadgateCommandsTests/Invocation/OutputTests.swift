import Foundation
import Synchronization
import Testing

@testable import HeadgateCommands

@Suite struct OutputTests {
    @Test("A closed reader of the output is a failure of its own kind, and so is a full disk")
    func failures() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let gone = #expect(throws: OutputDescriptor.Failure.self) {
            try OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor).write("for nobody\n")
        }
        #expect(gone?.isReaderGone == true)
        let handle = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let full = #expect(throws: OutputDescriptor.Failure.self) {
            try OutputDescriptor(number: handle.fileDescriptor).write("x")
        }
        #expect(full?.isReaderGone == false)
    }

    @Test("Error messages in the background do not wait for a reader")
    func background() throws {
        let pipe = Pipe()
        let plain = Terminal(
            input: 0, showsProgress: false, style: Style(isColoured: false), output: { _ in }, errors: { _ in })
        let terminal = plain.withBackgroundErrors(to: pipe.fileHandleForWriting.fileDescriptor)
        // More than the pipe and the writer hold together.
        for _ in 1...1_000 { terminal.printError(String(repeating: "x", count: 1_000)) }
        let reader = pipe.fileHandleForReading
        #expect(reader.readData(ofLength: 11) == Data("headgate: x".utf8))
    }

    @Test("A closed reader of the output is noticed before the first write")
    func readers() throws {
        let pipe = Pipe()
        let output = OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor)
        #expect(output.hasReaders)
        try pipe.fileHandleForReading.close()
        #expect(!output.hasReaders)
        let file = try #require(FileHandle(forWritingAtPath: "/dev/null"))
        #expect(OutputDescriptor(number: file.fileDescriptor).hasReaders)
    }

    @Test("An output larger than a pipe's buffer is written whole")
    func large() {
        let pipe = Pipe()
        let text = String(repeating: "0123456789", count: 50_000)
        let writer = pipe.fileHandleForWriting
        // The writer is blocked until the text is read. A task may get no thread of its own.
        Thread.detachNewThread {
            try? OutputDescriptor(number: writer.fileDescriptor).write(text)
            try? writer.close()
        }
        #expect(pipe.fileHandleForReading.readDataToEndOfFile() == Data(text.utf8))
    }

    @Test("Error messages have the command's name on each line, and cannot control the terminal")
    func throttle() {
        let written = Written()
        let terminal = Terminal(
            input: 0, showsProgress: false, style: Style(isColoured: false), output: { _ in },
            errors: { written.add($0) })
        terminal.printError("a\u{7}b\nc")
        terminal.showProgress("never seen")
        #expect(written.text == "headgate: a\\u{7}b\nheadgate: c\n")
    }
}

/// Collects lines that any thread writes.
private final class Written: Sendable {
    private let lines = Mutex("")

    var text: String { lines.withLock { $0 } }

    func add(_ text: String) {
        lines.withLock { $0 += text }
    }
}
