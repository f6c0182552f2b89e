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

extension LogFile: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(number)
        writer.put(size)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (number, size) = (try reader.take(), try reader.take())
    }
}

extension LogSegmentEntry: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(number)
        writer.put(file)
        writer.put(summary)
        writer.put(end)
        writer.put(events.first)
        writer.put(events.last)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (number, file) = (try reader.take(), try reader.take())
        (summary, end) = (try reader.take(), try reader.take())
        events = LogEvents(first: try reader.takeSequenceNumber(), last: try reader.takeSequenceNumber())
    }
}
