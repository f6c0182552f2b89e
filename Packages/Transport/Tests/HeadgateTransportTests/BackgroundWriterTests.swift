import Foundation
import HeadgateTransport
import Testing

/// Text that is written without waiting for its reader.
@Suite(.timeLimit(.minutes(5))) struct BackgroundWriterTests {
    /// A pipe whose buffer is full.
    private struct FullPipe {
        let pipe = Pipe()
        let length: Int

        init() {
            let writer = pipe.fileHandleForWriting.fileDescriptor
            _ = fcntl(writer, F_SETFL, O_NONBLOCK)
            var length = 0
            while case let count = write(writer, [UInt8](repeating: 0x2E, count: 4_096), 4_096), count > 0 {
                length += count
            }
            _ = fcntl(writer, F_SETFL, 0)
            self.length = length
        }
    }

    @Test("Text reaches the descriptor whole and in order, and draining waits for it")
    func order() throws {
        let pipe = Pipe()
        let writer = try BackgroundWriter(to: pipe.fileHandleForWriting.fileDescriptor) { "\($0) lost\n" }
        for number in 1...100 { writer.write("line \(number)\n") }
        writer.drain(atMost: 60_000)
        let expected = (1...100).map { "line \($0)\n" }.joined()
        #expect(pipe.fileHandleForReading.readData(ofLength: expected.utf8.count) == Data(expected.utf8))
    }

    @Test("While nobody reads, writing does not wait; what found no room is counted, and told once there is room")
    func stalled() throws {
        let full = FullPipe()
        let writer = try BackgroundWriter(to: full.pipe.fileHandleForWriting.fileDescriptor, keeping: 100) {
            "\($0) lost\n"
        }
        // The thread holds the first text, or the queue does: either way the following ones fill the queue.
        for _ in 1...50 { writer.write("0123456789012345678901234567890123456789\n") }
        writer.drain(atMost: 1)
        _ = full.pipe.fileHandleForReading.readData(ofLength: full.length)
        writer.drain(atMost: 60_000)
        writer.write("after\n")
        writer.drain(atMost: 60_000)
        try full.pipe.fileHandleForWriting.close()
        let text = String(decoding: full.pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let lines = text.split(separator: "\n")
        let kept = lines.count { $0.hasPrefix("0123") }
        let lost = lines.compactMap { $0.hasSuffix(" lost") ? Int($0.dropLast(5)) : nil }
        #expect(!lost.isEmpty && kept + lost.reduce(0, +) == 50, "\(lines)")
        #expect(lines.last == "after")
    }

    @Test("A reader that is gone makes nobody wait")
    func gone() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let writer = try BackgroundWriter(to: pipe.fileHandleForWriting.fileDescriptor) { "\($0) lost\n" }
        for _ in 1...100 { writer.write("for nobody\n") }
        writer.drain(atMost: 60_000)
    }
}
