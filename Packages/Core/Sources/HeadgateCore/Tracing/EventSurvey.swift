import HeadgateData

/// Goes over stored events to find those of an id, or to count how many a dispatcher has before it, a piece at a time and
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
    /// The id that is looked for; nil: they are only counted.
    private let id: [UInt8]?
    /// What is not counted.
    private let settled: Settled
    private let sweep: Sweep

    /// More of one id nobody wants to see.
    private static let mostFound = 64

    /// To find the events of an id in a stretch.
    init(for id: String, after: SequenceNumber, through: SequenceNumber) {
        self.init(Array(id.utf8), after, through, settled: Settled(through: 0), sweep: Sweep())
    }

    /// To count the events of a stretch but for those that are settled, or too old.
    init(countingAfter after: SequenceNumber, through: SequenceNumber, settled: Settled, sweep: Sweep) {
        self.init(nil, after, through, settled: settled, sweep: sweep)
    }

    private init(
        _ id: [UInt8]?, _ after: SequenceNumber, _ through: SequenceNumber, settled: Settled, sweep: Sweep
    ) {
        self.id = id
        (position, self.through) = (after, through)
        (self.settled, self.sweep) = (settled, sweep)
    }

    /// Whether all is looked at.
    public var isOver: Bool { position >= through || found.count >= EventSurvey.mostFound }

    /// Looks at what a store has behind ``position``; nil: nothing.
    public mutating func take(_ chunk: Chunk?) {
        guard let chunk, chunk.lastSequenceNumber > position else { return end() }
        for event in chunk where event.sequenceNumber > position && event.sequenceNumber <= through { look(at: event) }
        position = chunk.lastSequenceNumber
    }

    private mutating func end() { position = max(position, through) }

    private mutating func look(at event: StoredEvent) {
        if let id {
            if found.count < EventSurvey.mostFound, event.hasID(id) { found.append(event.record) }
        } else if !settled.contains(event.sequenceNumber), !sweep.hasPassed(event) {
            counts[event.route, default: 0] += 1
        }
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
