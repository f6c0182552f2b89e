import Glibc
import HeadgateTransport

/// The program's own output.
enum Terminal {
    static func print(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func error(_ text: String) {
        write(text, to: STDERR_FILENO)
    }

    /// Writes a line to standard error, between the lines of the log. It never waits for the reader.
    static func log(_ text: String) {
        LineOutput.standardError.write(text) { "headgated: warning: \($0) lines of the log were dropped" }
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let line = Array("\(text)\n".utf8)
        _ = Glibc.write(descriptor, line, line.count)
    }
}
