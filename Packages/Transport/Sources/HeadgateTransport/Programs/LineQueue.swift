/// The queue of lines to write to a descriptor, and the number of dropped lines. A pure value: the writer takes the
/// next line and reports the result of writing it.
///
/// The queue drops new lines from the time when it is full until half of it is free. A slow reader thus causes one
/// notice of dropped lines, not one per line.
struct LineQueue {
    /// Returns the line that reports a number of dropped lines.
    typealias Notice = @Sendable (Int) -> String

    private struct Line {
        let bytes: [UInt8]
        /// The number of dropped lines that this line reports; 0 for a line that is not a notice.
        var reports = 0
    }

    /// The most bytes of unwritten lines.
    let limit: Int
    /// The number of lines dropped since the start.
    private(set) var dropped = 0

    private var lines: [Line] = []
    private var bytes = 0
    /// The number of dropped lines that are not reported yet.
    private var unreported = 0
    private var notice: Notice = { _ in "" }
    /// True if the last write failed. The notice of dropped lines then waits for the next line.
    private var isBroken = false
    /// True while a writer takes lines.
    private(set) var isWriting = false

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a line, or drops it if there is no room.
    /// - Returns: true if a writer has to be started.
    mutating func add(_ text: String, notice: @escaping Notice) -> Bool {
        self.notice = notice
        let line = Line(bytes: Array(text.utf8) + [UInt8(ascii: "\n")])
        if unreported > 0, bytes <= limit / 2 { report() }
        guard unreported == 0, bytes + line.bytes.count <= limit else {
            (dropped, unreported) = (dropped + 1, unreported + 1)
            return false
        }
        append(line)
        defer { isWriting = true }
        return !isWriting
    }

    /// Returns the next line to write, with its line end. The writer ends after nil.
    mutating func next() -> [UInt8]? {
        if lines.isEmpty, unreported > 0, !isBroken { report() }
        if lines.isEmpty { isWriting = false }
        return lines.first?.bytes
    }

    /// Records the result of writing the line from ``next()``.
    mutating func finish(isWritten: Bool) {
        let line = lines.removeFirst()
        bytes -= line.bytes.count
        isBroken = !isWritten
        guard !isWritten else { return }
        unreported += max(line.reports, 1)
        if line.reports == 0 { dropped += 1 }
    }

    /// Records that no writer could be started. The lines stay until the next one is added.
    mutating func writerFailed() { isWriting = false }

    private mutating func report() {
        append(Line(bytes: Array("\(notice(unreported))\n".utf8), reports: unreported))
        unreported = 0
    }

    private mutating func append(_ line: Line) {
        lines.append(line)
        bytes += line.bytes.count
    }
}
