import Glibc
import HeadgateTransport
import Testing

@Suite struct LineOutputTests {
    /// A pipe whose ends are closed when the test ends.
    private final class Pipe {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            close(writing)
        }

        /// Reads until the text ends with `ending`.
        func text(until ending: String) -> String {
            var text = ""
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while !text.hasSuffix(ending) {
                let count = read(reading, &bytes, bytes.count)
                guard count > 0 else { return text }
                text += String(decoding: bytes[..<count], as: UTF8.self)
            }
            return text
        }
    }

    @Test("O4: an unread pipe delays no caller, and dropped lines are reported when there is room")
    func unread() throws {
        let pipe = try Pipe()
        let output = LineOutput(pipe.writing, limit: 8 << 10)
        let line = String(repeating: "x", count: 999)
        // More than the pipe and the queue hold together.
        for _ in 0..<200 { output.write(line) { "\($0) dropped" } }
        let dropped = output.dropped
        #expect(dropped > 0)
        var (whole, reported) = (0, 0)
        while whole + reported < 200 {
            for text in pipe.text(until: "\n").split(separator: "\n") {
                if text.hasSuffix(" dropped") {
                    reported += Int(text.dropLast(8)) ?? 0
                } else {
                    whole += text == line ? 1 : 0
                }
            }
        }
        #expect(reported == dropped && whole == 200 - dropped)
        #expect(output.drain(atMost: 60_000))
        output.write("after") { "\($0) dropped" }
        #expect(pipe.text(until: "after\n") == "after\n")
    }

    @Test("O4: a descriptor that another process made non-blocking takes whole lines")
    func nonBlocking() throws {
        let pipe = try Pipe()
        try #require(fcntl(pipe.writing, F_SETFL, O_NONBLOCK) == 0)
        let output = LineOutput(pipe.writing)
        let line = String(repeating: "y", count: 200_000)
        output.write(line) { "\($0) dropped" }
        #expect(pipe.text(until: "\n") == line + "\n")
    }

    @Test("O4: lines that cannot be written are counted")
    func broken() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let output = LineOutput(full)
        output.write("lost") { "\($0) dropped" }
        #expect(output.drain(atMost: 60_000))
        #expect(output.dropped == 1)
    }

    @Test("O4: a closed reader is a failed write, and does not end the process")
    func gone() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0, close(ends[0]) == 0 else { exit(2) }
            let output = LineOutput(ends[1])
            output.write("for nobody") { "\($0) dropped" }
            exit(output.drain(atMost: 60_000) && output.dropped == 1 ? 0 : 1)
        }
    }
}
