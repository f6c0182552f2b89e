import HeadgateCore

/// Where a dead letter lies.
struct LetterPlace: Hashable {
    /// The frame that holds it, with other changes.
    var frame: LogPlace
    /// Which of the frame's changes it is.
    var index: Int
}

/// Where the dead letters lie, and what has to be known of them without reading them (Behaviour D10).
struct LetterIndex: Equatable {
    struct Entry: Equatable {
        var number: LetterNumber
        var dispatcher: DispatcherNumber
        var sequenceNumber: SequenceNumber
        var place: LetterPlace
        /// Bytes of its event.
        var size: Int
    }

    /// The oldest first.
    private(set) var entries: [Entry] = []
    /// Bytes of their events.
    private(set) var bytes = 0
    /// The highest number that was ever given.
    private(set) var newest: LetterNumber = 0

    init(entries: [Entry] = [], newest: LetterNumber = 0) {
        (self.entries, self.newest) = (entries, newest)
        bytes = entries.reduce(0) { $0 + $1.size }
    }

    /// All of them, and the bytes of their events.
    var tally: Tally { Tally(events: entries.count, bytes: bytes) }

    /// Takes in a letter.
    /// - Parameter number: its own, beyond those that are there; nil is the next.
    mutating func add(_ letter: DeadLetter, under number: LetterNumber? = nil, at place: LetterPlace) {
        let number = number ?? newest + 1
        newest = max(newest, number)
        let size = letter.record.count
        entries.append(
            Entry(
                number: number, dispatcher: letter.dispatcher, sequenceNumber: letter.sequenceNumber, place: place,
                size: size))
        bytes += size
    }

    /// Drops the oldest letters until the others are within bounds; the newest stays in any case.
    /// - Returns: how many went, by dispatcher.
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

    /// Letters lie somewhere else now. Those that are gone meanwhile stay gone.
    mutating func move(_ places: [LetterNumber: LetterPlace]) {
        for index in entries.indices {
            if let place = places[entries[index].number] { entries[index].place = place }
        }
    }

    /// Those that a query means, without its limit.
    func meant(by query: DeadLetterQuery) -> some Sequence<Entry> {
        entries.lazy.filter { entry in
            entry.number > query.after && entry.number <= query.through
                && query.dispatcher.map { $0 == entry.dispatcher } ?? true
                && query.letters.map { $0.contains(entry.number) } ?? true
        }
    }

    /// Bytes of the letters in each segment that has some.
    var bytesBySegment: [UInt64: Int] {
        entries.reduce(into: [:]) { $0[$1.place.frame.segment, default: 0] += $1.size }
    }
}
