import HeadgateCore

/// A file of a log, by its number. It may be shorter than ``size``, if a sync failed or another program has truncated
/// it.
struct LogFile: Hashable {
    var number: UInt32
    /// The bytes that it takes.
    var size: Int

    static func == (one: LogFile, other: LogFile) -> Bool { one.number == other.number }

    func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// The entry of a sealed segment.
struct LogSegmentEntry: Equatable {
    var number: UInt64
    var file: LogFile
    /// The offset of the segment's summary; 0 if it has none and must be read as a whole.
    var summary: Int
    /// The end of the last frame.
    var end: Int
    /// The first and the last event that the segment holds or held; the first is after the last if there are none.
    var events: LogEvents
}

/// The first and the last of some events, between which others may be missing.
struct LogEvents: Equatable {
    var first: SequenceNumber = 1
    var last: SequenceNumber = 0
}

extension LogWriter {
    mutating func put(_ entry: LogSegmentEntry) {
        put(entry.number)
        put(entry.file)
        put(UInt64(entry.summary))
        put(UInt64(entry.end))
        put(entry.events.first)
        put(entry.events.last)
    }

    mutating func put(_ file: LogFile) {
        put(file.number)
        put(UInt64(file.size))
    }
}

extension LogReader {
    mutating func takeSegmentEntry() throws(Unsound) -> LogSegmentEntry {
        LogSegmentEntry(
            number: try take(), file: try takeFile(), summary: try takeSize(),
            end: try takeSize(),
            events: LogEvents(first: try takeSequenceNumber(), last: try takeSequenceNumber()))
    }

    mutating func takeFile() throws(Unsound) -> LogFile {
        LogFile(number: try take(), size: try takeSize())
    }
}
