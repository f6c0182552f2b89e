/// What was read of a followed file at its place, taken apart. Pure.
struct FollowedRead {
    /// The next thing to be done with.
    struct Next: Equatable {
        /// All of it.
        var bytes: [UInt8]
        var lines: [FollowedLines.Line] = []
        /// The file's format, with these lines.
        var format: FileFormat
        /// True if a line begins here that is too long.
        var hasLongLine = false
        /// True if the end of a line that is too long is still to come.
        var endsInLongLine = false
    }

    /// The whole lines, or what is read of a line that is too long. Nil if there is nothing to be done yet.
    let next: Next?

    /// - Parameters:
    ///   - isLast: true if nothing comes behind, so that the last line needs no end.
    ///   - longest: the number of bytes of the longest line that is not skipped.
    ///   - isEvent: returns true if a line can be an event.
    init(
        _ bytes: [UInt8], at place: FollowedPlace, isLast: Bool, longest: Int, isEvent: ([UInt8]) -> Bool
    ) {
        if place.isInLongLine {
            next = FollowedRead.rest(bytes, of: place)
            return
        }
        let lines = FollowedLines(bytes, isFirst: place.offset == 0, isLast: isLast)
        var format = place.format
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

    /// What is left of a line that is too long (Behaviour L3).
    private static func rest(_ bytes: [UInt8], of place: FollowedPlace) -> Next? {
        guard !bytes.isEmpty else { return nil }
        guard let end = bytes.lineFeed(from: 0) else {
            return Next(bytes: bytes, format: place.format, endsInLongLine: true)
        }
        return Next(bytes: Array(bytes[...end]), format: place.format)
    }
}
