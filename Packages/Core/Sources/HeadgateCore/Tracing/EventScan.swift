import HeadgateData

/// A scan of stored events that finds the events with some ids, or counts the events before some sequence numbers. It
/// proceeds in parts, and a store may run it on a thread of its own. Pure.
public struct EventScan: StoreScan, Sendable {
    /// All events up to this one have been scanned.
    public private(set) var position: SequenceNumber
    /// The last event to scan.
    public let through: SequenceNumber
    /// The records of the events that were found, the oldest first.
    public private(set) var found: [[UInt8]] = []
    /// The number of counted events per route.
    public private(set) var counts: [RouteNumber: Int] = [:]
    /// The ids to find; nil if events are only counted.
    private var search: IDSearch?
    /// The sequence numbers before which events are counted, ascending. `countsBefore` has the counts of those that
    /// were passed.
    private let sequenceNumbers: [SequenceNumber]
    private var countsBefore: [[RouteNumber: Int]] = []
    /// The events that are not counted.
    private let settled: Settled
    private let sweep: Sweep

    /// Creates a scan that finds the events with some ids in a range.
    init(for ids: [[UInt8]], after: SequenceNumber, through: SequenceNumber) {
        search = IDSearch(ids)
        (position, self.through, sequenceNumbers) = (after, through, [])
        (settled, sweep) = (Settled(through: 0), Sweep())
    }

    /// Creates a scan that counts the events after one sequence number and before others, without those that are
    /// settled or too old.
    /// - Parameter sequenceNumbers: the sequence numbers before which events are counted, ascending.
    init(countingAfter after: SequenceNumber, before sequenceNumbers: [SequenceNumber], settled: Settled, sweep: Sweep)
    {
        (position, through, self.sequenceNumbers) = (after, (sequenceNumbers.last ?? 0) - 1, sequenceNumbers)
        (self.settled, self.sweep) = (settled, sweep)
    }

    /// True if the scan is complete.
    public var isOver: Bool { position >= through || search?.isOver == true }

    /// Processes the events that a store has after ``position``; nil if there are none.
    public mutating func take(_ chunk: Chunk?) {
        guard let chunk, chunk.lastSequenceNumber > position else { return end() }
        for event in chunk where event.sequenceNumber > position && event.sequenceNumber <= through { examine(event) }
        position = chunk.lastSequenceNumber
    }

    private mutating func end() { position = max(position, through) }

    private mutating func examine(_ event: StoredEvent) {
        if search != nil {
            if search?.finds(event) == true { found.append(event.record) }
        } else {
            note(before: event.sequenceNumber)
            if !settled.contains(event.sequenceNumber), !sweep.hasPassed(event) { counts[event.route, default: 0] += 1 }
        }
    }

    /// Saves the counts for the sequence numbers that have been reached.
    private mutating func note(before sequenceNumber: SequenceNumber) {
        while countsBefore.count < sequenceNumbers.count, sequenceNumbers[countsBefore.count] <= sequenceNumber {
            countsBefore.append(counts)
        }
    }

    /// Returns the number of events before one of the sequence numbers, for the routes that satisfy the condition.
    func count(before sequenceNumber: SequenceNumber, where isIncluded: (RouteNumber) -> Bool) -> Int {
        guard let index = sequenceNumbers.firstIndex(of: sequenceNumber) else { return 0 }
        let counts = index < countsBefore.count ? countsBefore[index] : counts
        return counts.reduce(0) { isIncluded($1.key) ? $0 + $1.value : $0 }
    }
}

/// A search that recognises the events with some ids.
private struct IDSearch: Sendable {
    private let ids: [[UInt8]]
    /// The indices of the ids with each hash.
    private let byHash: [UInt64: [Int]]
    private var foundOfEach: [Int]
    private let hash: TraceHash

    /// The most events to find per id.
    private static let mostFound = 64

    init(_ ids: [[UInt8]]) {
        var random = SystemRandomNumberGenerator()
        let hash = TraceHash(seed: random.next())
        self.ids = ids
        self.hash = hash
        byHash = Dictionary(grouping: ids.indices) { index in ids[index].withUnsafeBytes(hash.of) }
        foundOfEach = ids.map { _ in 0 }
    }

    var isOver: Bool { foundOfEach.allSatisfy { $0 >= IDSearch.mostFound } }

    mutating func finds(_ event: StoredEvent) -> Bool {
        let indexes = event.withHead { byHash[hash.ofJSONString($0.id)] } ?? []
        for index in indexes where event.hasID(ids[index]) {
            guard foundOfEach[index] < IDSearch.mostFound else { return false }
            foundOfEach[index] += 1
            return true
        }
        return false
    }
}

extension StoredEvent {
    /// Returns true if the decoded id of the event equals an id.
    /// - Parameter id: the id in UTF-8.
    func hasID(_ id: [UInt8]) -> Bool {
        let start = offset + RecordHeader.size + RecordHeader.idStart
        let spelled = chunk.bytes[start..<start + Int(header.idLength)].dropFirst().dropLast()
        guard spelled.contains(UInt8(ascii: "\\")) else { return spelled.elementsEqual(id) }
        var plain: [UInt8] = []
        Array(spelled).withUnsafeBytes { JSONUnescaper($0).append(to: &plain) }
        return plain == id
    }

    /// The wall-clock time of receipt; nil if the record does not contain it.
    var receivedAt: Timestamp? {
        withHead { $0.receivedAt.flatMap { Timestamp(rfc3339: $0) } }
    }

    /// The event's name; nil if the record does not contain it.
    var name: String? {
        withHead { head in
            head.name.map { name in
                var plain: [UInt8] = []
                JSONUnescaper(UnsafeRawBufferPointer(rebasing: name.dropFirst().dropLast())).append(to: &plain)
                return String(decoding: plain, as: UTF8.self)
            }
        }
    }

    func withHead<Result>(_ body: (RecordHead) -> Result) -> Result {
        chunk.bytes.withUnsafeBytes { body(RecordHead(header, $0, at: offset)) }
    }

    /// The context from the collectors, as a JSON object.
    var context: ArraySlice<UInt8> {
        let start = offset + RecordHeader.size + Int(header.headLength)
        return chunk.bytes[start..<start + Int(header.contextLength)]
    }
}
