/// Bytes of a followed file at its position, cut into lines. A pure value.
struct FollowedRead {
    /// The next bytes to handle.
    struct Next: Equatable {
        /// The bytes, all of which belong to the lines or to a line that is too long.
        var bytes: [UInt8]
        var lines: [FollowedLines.Line] = []
        /// The format of the file, with these lines.
        var format: FileFormat
        /// True if a line that is too long begins here.
        var hasLongLine = false
        /// True if the end of a line that is too long is still to come.
        var endsInLongLine = false
    }

    /// The complete lines, or a part of a line that is too long. Nil if there is nothing to handle yet.
    let next: Next?

    /// - Parameters:
    ///   - isLast: true if no bytes follow, so that the last line needs no end.
    ///   - longest: the most bytes of a line that is not skipped.
    ///   - isEvent: returns true if a line can be an event.
    init(
        _ bytes: [UInt8], at position: FollowerPosition, isLast: Bool, longest: Int, isEvent: ([UInt8]) -> Bool
    ) {
        if position.isInLongLine {
            next = FollowedRead.rest(bytes, of: position)
            return
        }
        let lines = FollowedLines(bytes, isFirst: position.offset == 0, isLast: isLast)
        var format = position.format
        if lines.length > 0 {
            for line in lines.lines where format.isOpen { format.note(isEvent: isEvent(line.bytes)) }
            next = Next(bytes: Array(bytes[..<lines.length]), lines: lines.lines, format: format)
        } else if bytes.count > longest {
            format.note(isEvent: false)
            next = Next(bytes: bytes, format: format, hasLongLine: true, endsInLongLine: true)
        } else {
            next = nil
        }
    }

    /// Returns the rest of a line that is too long (Behaviour L3).
    private static func rest(_ bytes: [UInt8], of position: FollowerPosition) -> Next? {
        guard !bytes.isEmpty else { return nil }
        guard let end = bytes.lineFeed(from: 0) else {
            return Next(bytes: bytes, format: position.format, endsInLongLine: true)
        }
        return Next(bytes: Array(bytes[...end]), format: position.format)
    }
}
