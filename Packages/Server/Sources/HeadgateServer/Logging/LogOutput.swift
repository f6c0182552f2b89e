import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The format of the lines of the log (`log_format`).
public enum LogFormat: String, CaseIterable, Sendable {
    /// Plain text, like `headgated: warning: …`.
    case text
    /// One JSON object on each line.
    case json
}

/// The writer of the lines of the log. It never waits for a reader. Any thread may use it.
final class LogOutput: Sendable {
    /// The destination of the lines.
    enum Target: Sendable {
        /// Standard error. Each line is one `write`, so that lines of several writers do not mix. If standard error is
        /// the journal, each line begins with its level, as sd-daemon(3) describes.
        case standardError
        /// A function of the program that embeds the server.
        case hook(@Sendable (LoggedLine) -> Void)
        /// No destination, for simulations, whose lines no test reads.
        case nowhere
    }

    private let state: Guarded<LogFormat>
    private let target: Target

    private static let isJournal = standardErrorIsJournal(getenv("JOURNAL_STREAM").map { String(cString: $0) })

    init(_ format: LogFormat = .text, to target: Target) {
        state = Guarded(format)
        self.target = target
    }

    var format: LogFormat {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// A Boolean value that says whether lines have a destination.
    var isRead: Bool {
        if case .nowhere = target { false } else { true }
    }

    /// The number of lines that were dropped.
    var dropped: Int {
        if case .standardError = target { LineOutput.standardError.dropped } else { 0 }
    }

    /// Writes a line and returns at once. Lines that standard error does not accept are kept up to a bound, then
    /// dropped and counted.
    func write(_ line: LogLine) {
        switch target {
        case .nowhere: return
        case .hook(let hook): hook(LoggedLine(line))
        case .standardError:
            let format = format
            LineOutput.standardError.write(LogOutput.prefixed(line, as: format)) { dropped in
                LogOutput.prefixed(LogLine(.linesDropped, ["lines": .number(DataNumber(dropped))]), as: format)
            }
        }
    }

    private static func prefixed(_ line: LogLine, as format: LogFormat) -> String {
        (isJournal ? "<\(line.kind.level.number)>" : "") + rendered(line, as: format, at: wall)
    }

    /// Returns the text of a line, without the line end.
    static func rendered(_ line: LogLine, as format: LogFormat, at time: Timestamp) -> String {
        switch format {
        case .text: "headgated: \(line.kind.level.inText)\(PlainText.line(line.text.replacingLineEnds))"
        case .json: PlainText.json(json(line, at: time))
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

    /// Returns true if standard error is the stream that `JOURNAL_STREAM` names by device and inode. Programs inherit
    /// the variable even if their output goes elsewhere.
    private static func standardErrorIsJournal(_ stream: String?) -> Bool {
        var status = stat()
        guard let stream, fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

/// A line of the daemon's log, as a program that embeds the server gets it (``ServerConfiguration/onLog``).
public struct LoggedLine: Equatable, Sendable {
    public let level: LogLevel
    /// The kind of the line, a stable word like `events_died` (Operations, The log).
    public let kind: String
    /// The line as a text for people.
    public let message: String
    /// The values of the line, by the names in its pattern.
    public let members: DataObject
    /// The number of equal lines that this line replaces: a burst of equal lines becomes one line.
    public let times: Int

    init(_ line: LogLine) {
        (level, kind, message) = (line.kind.level, line.kind.rawValue, line.text)
        (members, times) = (line.members, line.times)
    }
}

extension LogLevel {
    /// The prefix of a line's text.
    fileprivate var inText: String {
        switch self {
        case .debug, .info, .notice: ""
        case .warning: "warning: "
        case .error: "error: "
        }
    }
}

extension String {
    /// The text with spaces in place of ASCII's control characters. Some messages of libraries have several lines.
    fileprivate var replacingLineEnds: String {
        String(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}
