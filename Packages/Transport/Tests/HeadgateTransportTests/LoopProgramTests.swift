import Foundation
import HeadgateTransport
import Testing

/// Programs started by a loop, which is notified when they end.
@Suite struct LoopProgramTests {
    /// Runs a shell script and returns its end and the text that it wrote to the file `$OUT`.
    private func run(
        _ script: String, input: [UInt8] = [], _ whenStarted: @escaping (LoopProgram) -> Void = { _ in }
    ) throws -> (end: LoopProgram.End?, output: String) {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var end: LoopProgram.End?
        try onLoop { loop in
            let program = try LoopProgram(
                ["sh", "-c", script], adding: ["OUT": path, "HOME": "/nowhere"], input: try MemoryFile(input), on: loop
            ) {
                end = $0
                loop.stop()
            }
            whenStarted(program)
        }
        return (end, String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self))
    }

    @Test("A program gets its input and the added environment variables, and its exit code is reported")
    func whole() throws {
        let result = try run(#"cat > "$OUT"; echo "$HOME" >> "$OUT"; exit 7"#, input: Array("a\nb\n".utf8))
        #expect(result.end == .exited(7))
        #expect(result.output == "a\nb\n/nowhere\n")
    }

    @Test("Input of any size blocks nothing, whether it is read or not", arguments: ["wc -c > $OUT", "true"])
    func muchInput(_ script: String) throws {
        let result = try run(script, input: [UInt8](repeating: 0x61, count: 8 << 20))
        #expect(result.end == .exited(0))
        #expect(result.output == (script == "true" ? "" : "\(8 << 20)\n"))
    }

    @Test("A signal reaches the program and its children, and the kind of end is reported")
    func signal() throws {
        let result = try run("sleep 600") { $0.signal(SIGTERM) }
        #expect(result.end == .killed(signal: SIGTERM))
    }

    @Test("A program inherits no descriptor that a library left open on exec")
    func inherited() throws {
        let number = fcntl(0, F_DUPFD, 600)
        try #require(number >= 600)
        defer { close(number) }
        let result = try run("if [ -e /proc/self/fd/\(number) ]; then echo open > $OUT; else echo closed > $OUT; fi")
        #expect(result.output == "closed\n")
    }

    @Test("A missing program is an error, and leaves nothing open")
    func missing() throws {
        try onLoop { loop in
            let input = try MemoryFile([])
            do throws(TransportError) {
                _ = try LoopProgram(["/nowhere/at/all"], input: input, on: loop) { _ in Issue.record("it ended") }
                Issue.record("it started")
            } catch {
                #expect(error.description == "/nowhere/at/all: cannot start: no such file or directory")
            }
            loop.stop()
        }
    }
}
