import Glibc

/// The daemon's log: one line an entry, on standard error. Where that is the journal each line has its level in front, as
/// sd-daemon(3) says.
struct Log: Sendable {
    private static let isJournal = standardErrorIsJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })

    func notice(_ text: String) { write(text, level: 5) }
    func warning(_ text: String) { write("warning: " + text, level: 4) }
    func error(_ text: String) { write("error: " + text, level: 3) }

    /// One `write` a line, so that lines of several writers do not mix. What cannot be written is lost: there is nobody
    /// else to tell.
    private func write(_ text: String, level: Int) {
        let prefix = Log.isJournal ? "<\(level)>" : ""
        let line = Array("\(prefix)headgated: \(text.replacingLineEnds)\n".utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }

    /// Whether standard error is what `JOURNAL_STREAM` names, by device and inode: the variable is inherited by programs
    /// whose output goes elsewhere.
    private static func standardErrorIsJournal(_ stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

extension String {
    /// Nobody can forge an entry by what an entry quotes.
    fileprivate var replacingLineEnds: String {
        String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}
