/// Lines of a followed file that are sent together, and the state of each. A pure value.
struct LineBatch {
    /// The state of a line. An answer for a line that is not `sent` changes nothing.
    enum State: Equatable {
        /// The line must be sent, for the first time or again. Next: `sent`.
        case open
        /// The line is sent and not answered. Next: `settled`, or `open` if the daemon may store the line later.
        case sent
        /// The line is stored, or refused for good. This is the last state.
        case settled
    }

    struct Line {
        let line: FollowedLines.Line
        var state = State.open
    }

    /// The prefix of the lines' IDs.
    let prefix: String
    /// The offset of the piece in the file.
    let start: Int
    /// The format of the file, judged by the lines up to the end of the piece.
    let format: FileFormat
    /// True if the piece ends inside a line that is too long.
    let endsInLongLine: Bool
    private(set) var lines: [Line]
    private let bytes: [UInt8]
    private var unanswered = 0

    /// Makes the piece at a position.
    /// - Parameters:
    ///   - lines: the lines of the piece. Lines that the position lists as settled are not sent again.
    ///   - bytes: all bytes of the piece.
    init(
        _ lines: [FollowedLines.Line], of bytes: [UInt8], at position: FollowerPosition, format: FileFormat,
        endsInLongLine: Bool = false
    ) {
        (prefix, start, self.bytes) = (position.prefix, position.offset, bytes)
        (self.format, self.endsInLongLine) = (format, endsInLongLine)
        self.lines = lines.map { line in
            Line(line: line, state: position.isSettled(at: position.offset + line.start) ? .settled : .open)
        }
    }

    /// The offset after the piece.
    var end: Int { start + bytes.count }

    /// True if every sent line is answered.
    var isAnswered: Bool { unanswered == 0 }

    var isAllSettled: Bool { lines.allSatisfy { $0.state == .settled } }

    /// Returns the offset of a line in the file.
    func offset(of index: Int) -> Int { start + lines[index].line.start }

    /// Takes the indices of the lines that must be sent, and marks these lines as sent.
    mutating func takeOpen() -> [Int] {
        let open = lines.indices.filter { lines[$0].state == .open }
        for index in open { lines[index].state = .sent }
        unanswered += open.count
        return open
    }

    /// Marks a sent line as settled.
    mutating func settle(_ index: Int) { answer(index, .settled) }

    /// Marks a sent line as open, because the daemon may store it later.
    mutating func reopen(_ index: Int) { answer(index, .open) }

    private mutating func answer(_ index: Int, _ state: State) {
        guard lines[index].state == .sent else { return }
        lines[index].state = state
        unanswered -= 1
    }

    // MARK: Position

    /// The offset of the first line that is not settled, or the end if all are.
    var firstOpen: Int {
        lines.firstIndex { $0.state != .settled }.map(offset(of:)) ?? end
    }

    /// Returns the bytes between two offsets of the file.
    func bytes(from low: Int, to high: Int) -> ArraySlice<UInt8> {
        bytes[max(0, low - start)..<max(0, low - start, high - start)]
    }

    /// Returns the ranges of settled lines from an offset on. Adjacent lines form one range.
    func settled(from offset: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for entry in lines where entry.state == .settled && start + entry.line.start >= offset {
            let range = start + entry.line.start..<start + entry.line.end
            if let last = ranges.last, last.upperBound == range.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            } else {
                ranges.append(range)
            }
        }
        return ranges
    }
}
