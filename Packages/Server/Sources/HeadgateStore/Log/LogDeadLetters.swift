import HeadgateCore

/// The position of a dead letter.
struct DeadLetterPosition: Hashable {
    /// The frame that has the dead letter, among other changes.
    var frame: LogPosition
    /// The index of the dead letter among the frame's changes.
    var index: Int
}

/// The positions of the dead letters, and what queries need without reading them (Behaviour D10).
struct DeadLetterIndex: Equatable {
    struct Entry: Equatable {
        var number: DeadLetterNumber
        var dispatcher: DispatcherNumber
        var sequenceNumber: SequenceNumber
        var position: DeadLetterPosition
        /// The bytes of the event.
        var size: Int
    }

    /// The dead letters, the oldest first.
    private(set) var entries: [Entry] = []
    /// The bytes of their events.
    private(set) var bytes = 0
    /// The highest number that was ever given.
    private(set) var newest: DeadLetterNumber = 0

    init(entries: [Entry] = [], newest: DeadLetterNumber = 0) {
        (self.entries, self.newest) = (entries, newest)
        bytes = entries.reduce(0) { $0 + $1.size }
    }

    /// The number of dead letters, and the bytes of their events.
    var tally: Tally { Tally(events: entries.count, bytes: bytes) }

    /// Adds a dead letter.
    /// - Parameter number: a number above the present ones; nil for the next.
    mutating func add(_ deadLetter: DeadLetter, under number: DeadLetterNumber? = nil, at position: DeadLetterPosition)
    {
        let number = number ?? newest + 1
        newest = max(newest, number)
        let size = deadLetter.record.count
        entries.append(
            Entry(
                number: number, dispatcher: deadLetter.dispatcher, sequenceNumber: deadLetter.sequenceNumber,
                position: position,
                size: size))
        bytes += size
    }

    /// Drops the oldest dead letters until the others are within bounds. The newest stays in any case.
    /// - Returns: the number of dropped dead letters by dispatcher.
    mutating func limit(to bounds: DeadLetterLimits) -> [DispatcherNumber: Int] {
        var (dropped, rest) = (0, tally)
        while rest.events > 1, bounds.isExceeded(by: rest) {
            rest -= Tally(events: 1, bytes: entries[dropped].size)
            dropped += 1
        }
        guard dropped > 0 else { return [:] }
        defer { entries.removeFirst(dropped) }
        bytes = rest.bytes
        return Dictionary(grouping: entries.prefix(dropped), by: \.dispatcher).mapValues(\.count)
    }

    mutating func remove(where isGone: (Entry) -> Bool) {
        entries.removeAll(where: isGone)
        bytes = entries.reduce(0) { $0 + $1.size }
    }

    /// Moves dead letters to other positions. Those that were deleted meanwhile stay deleted.
    mutating func move(_ positions: [DeadLetterNumber: DeadLetterPosition]) {
        for index in entries.indices {
            if let position = positions[entries[index].number] { entries[index].position = position }
        }
    }

    /// Returns the dead letters that match a query, without its limit.
    func matching(by query: DeadLetterQuery) -> some Sequence<Entry> {
        entries.lazy.filter { entry in
            entry.number > query.after && entry.number <= query.through
                && query.dispatcher.map { $0 == entry.dispatcher } ?? true
                && query.numbers.map { $0.contains(entry.number) } ?? true
        }
    }

    /// The bytes of the dead letters in each segment that has some.
    var bytesBySegment: [UInt64: Int] {
        entries.reduce(into: [:]) { $0[$1.position.frame.segment, default: 0] += $1.size }
    }
}

extension DeadLetterPosition: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(frame)
        writer.put(UInt32(index))
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (frame, index) = (try reader.take(), Int(try reader.take(UInt32.self)))
    }
}

extension DeadLetterIndex: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(newest)
        writer.put(entries)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        let newest = try reader.takeSequenceNumber()
        self.init(entries: try reader.take(), newest: newest)
    }
}

extension DeadLetterIndex.Entry: LogCodable {
    func write(to writer: inout LogWriter) {
        writer.put(number)
        writer.put(dispatcher)
        writer.put(sequenceNumber)
        writer.put(position)
        writer.put(size)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (number, dispatcher) = (try reader.takeSequenceNumber(), try reader.take())
        sequenceNumber = try reader.takeSequenceNumber()
        (position, size) = (try reader.take(), try reader.take())
    }
}
