import HeadgateData

/// Goes over stored events to find those of some ids, or to count how many come before some of them, a piece at a time and
/// wherever a store likes: off the scheduler, where it has a thread. Pure.
public struct EventSurvey: Sendable {
    /// All up to and including this event has been looked at.
    public private(set) var position: SequenceNumber
    /// Where it ends.
    public let through: SequenceNumber
    /// The records of the events that were found, the oldest first.
    public private(set) var found: [[UInt8]] = []
    /// How many events there were of each route.
    public private(set) var counts: [RouteNumber: Int] = [:]
    /// What is looked for; nil: events are only counted.
    private var search: IDSearch?
    /// The events before which it is counted, in ascending order, and the counts before those that were passed.
    private let places: [SequenceNumber]
    private var countsBefore: [[RouteNumber: Int]] = []
    /// What is not counted.
    private let settled: Settled
    private let sweep: Sweep

    /// To find the events of some ids in a stretch.
    init(for ids: [[UInt8]], after: SequenceNumber, through: SequenceNumber) {
        search = IDSearch(ids)
        (position, self.through, places) = (after, through, [])
        (settled, sweep) = (Settled(through: 0), Sweep())
    }

    /// To count the events behind one and before others, but for those that are settled, or too old.
    /// - Parameter places: in ascending order.
    init(countingAfter after: SequenceNumber, before places: [SequenceNumber], settled: Settled, sweep: Sweep) {
        (position, through, self.places) = (after, (places.last ?? 0) - 1, places)
        (self.settled, self.sweep) = (settled, sweep)
    }

    /// Whether all is looked at.
    public var isOver: Bool { position >= through || search?.isOver == true }

    /// Looks at what a store has behind ``position``; nil: nothing.
    public mutating func take(_ chunk: Chunk?) {
        guard let chunk, chunk.lastSequenceNumber > position else { return end() }
        for event in chunk where event.sequenceNumber > position && event.sequenceNumber <= through { look(at: event) }
        position = chunk.lastSequenceNumber
    }

    private mutating func end() { position = max(position, through) }

    private mutating func look(at event: StoredEvent) {
        if search != nil {
            if search?.finds(event) == true { found.append(event.record) }
        } else {
            note(before: event.sequenceNumber)
            if !settled.contains(event.sequenceNumber), !sweep.hasPassed(event) { counts[event.route, default: 0] += 1 }
        }
    }

    /// Keeps the counts before the places that an event is at or behind.
    private mutating func note(before sequenceNumber: SequenceNumber) {
        while countsBefore.count < places.count, places[countsBefore.count] <= sequenceNumber {
            countsBefore.append(counts)
        }
    }

    /// Returns how many events there are before one of the places, of the routes that matter.
    func count(before place: SequenceNumber, where isMeant: (RouteNumber) -> Bool) -> Int {
        guard let index = places.firstIndex(of: place) else { return 0 }
        let counts = index < countsBefore.count ? countsBefore[index] : counts
        return counts.reduce(0) { isMeant($1.key) ? $0 + $1.value : $0 }
    }
}

/// Tells the events of some ids from others.
private struct IDSearch: Sendable {
    private let ids: [[UInt8]]
    /// By the hash of each: which of the ids have it.
    private let byHash: [UInt64: [Int]]
    private var foundOfEach: [Int]
    private let hash: TraceHash

    /// More of one id nobody wants to see.
    private static let mostFound = 64

    init(_ ids: [[UInt8]]) {
        var random = SystemRandomNumberGenerator()
        let hash = TraceHash(seed: random.next())
        self.ids = ids
        self.hash = hash
        byHash = Dictionary(grouping: ids.indices) { place in ids[place].withUnsafeBytes(hash.of) }
        foundOfEach = ids.map { _ in 0 }
    }

    var isOver: Bool { foundOfEach.allSatisfy { $0 >= IDSearch.mostFound } }

    mutating func finds(_ event: StoredEvent) -> Bool {
        let places = event.withHead { byHash[hash.ofJSONString($0.id)] } ?? []
        for place in places where event.hasID(ids[place]) {
            guard foundOfEach[place] < IDSearch.mostFound else { return false }
            foundOfEach[place] += 1
            return true
        }
        return false
    }
}

extension StoredEvent {
    /// Whether its id is this one, however it is spelled.
    /// - Parameter id: in UTF-8.
    func hasID(_ id: [UInt8]) -> Bool {
        let start = offset + RecordHeader.size + RecordHeader.idStart
        let spelled = chunk.bytes[start..<start + Int(header.idLength)].dropFirst().dropLast()
        guard spelled.contains(UInt8(ascii: "\\")) else { return spelled.elementsEqual(id) }
        var plain: [UInt8] = []
        Array(spelled).withUnsafeBytes { JSONUnescaper($0).append(to: &plain) }
        return plain == id
    }

    /// When it was received, by the wall clock of then; nil where the record does not say.
    var receivedAt: Timestamp? {
        withHead { $0.receivedAt.flatMap { Timestamp(rfc3339: $0) } }
    }

    /// Its name; nil where the record does not say.
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

    /// The context that its collectors made, as a JSON object.
    var context: ArraySlice<UInt8> {
        let start = offset + RecordHeader.size + Int(header.headLength)
        return chunk.bytes[start..<start + Int(header.contextLength)]
    }
}
