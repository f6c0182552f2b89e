import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// How lines of the log are written (`log_format`).
public enum LogFormat: String, CaseIterable, Sendable {
    /// `headgated: warning: …`
    case text
    /// A JSON object a line.
    case json
}

/// Writes lines of the log on standard error, one `write` a line, so that lines of several writers do not mix. Where that is
/// the journal each line has its level in front, as sd-daemon(3) says. From any thread.
final class LogOutput: Sendable {
    private let state: Guarded<LogFormat>
    private let isQuiet: Bool

    private static let isJournal = standardErrorIsJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })

    /// - Parameter isQuiet: whether nothing is written: a simulation has thousands of lines that nobody reads.
    init(_ format: LogFormat = .text, isQuiet: Bool = false) {
        state = Guarded(format)
        self.isQuiet = isQuiet
    }

    var format: LogFormat {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Whether anybody reads it.
    var isRead: Bool { !isQuiet }

    /// What cannot be written is lost: there is nobody else to tell.
    func write(_ line: LogLine) {
        guard !isQuiet else { return }
        let prefix = LogOutput.isJournal ? "<\(line.kind.level.number)>" : ""
        let bytes = Array("\(prefix)\(LogOutput.rendered(line, as: format, at: LogOutput.wall))\n".utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }

    /// A line as it is written, without its end.
    static func rendered(_ line: LogLine, as format: LogFormat, at time: Timestamp) -> String {
        switch format {
        case .text: "headgated: \(line.kind.level.inText)\(line.text.replacingLineEnds)"
        case .json: json(line, at: time)
        }
    }

    private static func json(_ line: LogLine, at time: Timestamp) -> String {
        var object: DataObject = [
            "time": .string(time.text), "level": .string(line.kind.level.rawValue), "message": .string(line.text),
            "kind": .string(line.kind.rawValue),
        ]
        for (name, value) in line.members where object[name] == nil { object[name] = value }
        if line.times > 1 { object["times"] = .number(DataNumber(line.times)) }
        return DataItem.object(object).json
    }

    private static var wall: Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(milliseconds: Int64(now.tv_sec) * 1_000 + Int64(now.tv_nsec) / 1_000_000)
    }

    /// Whether standard error is what `JOURNAL_STREAM` names, by device and inode: the variable is inherited by programs
    /// whose output goes elsewhere.
    private static func standardErrorIsJournal(_ stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

extension LogLevel {
    /// What stands in front of a line's text.
    fileprivate var inText: String {
        switch self {
        case .debug, .info, .notice: ""
        case .warning: "warning: "
        case .error: "error: "
        }
    }
}

extension String {
    /// Nobody can forge an entry by what an entry quotes.
    fileprivate var replacingLineEnds: String {
        String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}
