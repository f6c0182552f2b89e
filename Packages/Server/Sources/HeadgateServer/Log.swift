import Glibc

/// The daemon's log: one line an entry, on standard error.
struct Log: Sendable {
    func notice(_ text: String) { write(text) }
    func warning(_ text: String) { write("warning: " + text) }
    func error(_ text: String) { write("error: " + text) }

    /// One `write` a line, so that lines of several writers do not mix. What cannot be written is lost: there is nobody
    /// else to tell.
    private func write(_ text: String) {
        let line = Array("headgated: \(text.replacingLineEnds)\n".utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }
}

extension String {
    /// Nobody can forge an entry by what an entry quotes.
    fileprivate var replacingLineEnds: String {
        String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}
