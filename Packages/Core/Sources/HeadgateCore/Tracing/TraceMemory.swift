import HeadgateData

/// What is remembered of the newest stored events, so that each can be traced by its id (Behaviour O2). Pure.
///
/// An event takes 40 bytes, and for each dispatcher a part of a line of 32 (``SettlementLog``). It has no index: whoever asks
/// goes over the hashes of all ids, which lie side by side, half a megabyte of them; so that nothing has to be kept in order
/// for events that nobody asks about.
struct TraceMemory {
    /// How many events are remembered.
    private(set) var capacity: Int
    /// The hashes of the ids.
    private var hashes: [UInt64] = []
    private var rows: [Row] = []
    /// The place of the oldest, once all places are taken.
    private var next = 0
    private var logs: [DispatcherNumber: SettlementLog] = [:]
    private var names: TraceWords
    private let hash: TraceHash
    private var clock = ReceiptClock()

    private struct Row {
        let sequenceNumber: SequenceNumber
        /// Milliseconds of the wall clock.
        let receivedAt: Int64
        let route: RouteNumber
        let name: TraceWords.Number
        let namespace: TraceWords.Number
    }

    /// An event that is remembered.
    struct Remembered: Equatable {
        let sequenceNumber: SequenceNumber
        let receivedAt: Timestamp
        let route: RouteNumber
        /// Nil where too many have come since.
        let name: String?
        let namespace: TraceWords.Number
    }

    private static let mostNames = 4_096

    /// - Parameters:
    ///   - capacity: how many events are remembered; 0 is none.
    ///   - seed: what ids are hashed with.
    init(capacity: Int, seed: UInt64) {
        self.capacity = capacity
        hash = TraceHash(seed: seed)
        names = TraceWords(most: TraceMemory.mostNames, hash: hash)
    }

    /// Remembers so many from now on; of those that there are the newest stay.
    mutating func setCapacity(_ new: Int) {
        guard new != capacity else { return }
        let order = (0..<rows.count).map { (next + $0) % rows.count }.suffix(new)
        (hashes, rows, next) = (order.map { hashes[$0] }, order.map { rows[$0] }, 0)
        capacity = new
        if new == 0 { logs = [:] } else { forgetSettled() }
    }

    /// Every stored event from this one on is remembered; nil when none is.
    var oldest: SequenceNumber? { rows.isEmpty ? nil : rows[rows.count < capacity ? 0 : next].sequenceNumber }

    // MARK: Facts

    /// Events are stored.
    mutating func stored(_ chunk: Chunk, _ namespaces: NamespaceRuns) {
        guard capacity > 0 else { return }
        var namespaces = namespaces.numbers
        chunk.bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + RecordHeader.size <= bytes.count {
                let header = RecordHeader(bytes, at: offset)
                guard header.isSound, offset + Int(header.length) <= bytes.count else { return }
                remember(RecordHead(header, bytes, at: offset), namespaces.next() ?? 0)
                offset += Int(header.length)
            }
        }
    }

    private mutating func remember(_ head: RecordHead, _ namespace: TraceWords.Number) {
        let row = Row(
            sequenceNumber: head.header.sequenceNumber, receivedAt: clock.milliseconds(head.receivedAt),
            route: head.header.route, name: head.name.map { names.number(of: $0) } ?? 0, namespace: namespace)
        let digest = hash.ofJSONString(head.id)
        guard rows.count == capacity else {
            hashes.append(digest)
            return rows.append(row)
        }
        hashes[next] = digest
        rows[next] = row
        next += 1
        guard next == capacity else { return }
        next = 0
        forgetSettled()
    }

    /// Who settles nothing any more forgets nothing by itself.
    private mutating func forgetSettled() {
        guard let oldest else { return }
        for number in logs.keys { logs[number]?.forget(before: oldest) }
    }

    /// A dispatcher has done with some events, each of which was sent so often.
    mutating func settled(
        _ events: some Sequence<(number: SequenceNumber, sends: Int)>, by dispatcher: DispatcherNumber,
        as end: DeliveryEnd, at wall: Timestamp, cause: (SequenceNumber) -> TraceWords.Number
    ) {
        guard capacity > 0, let oldest else { return }
        var log = logs.removeValue(forKey: dispatcher) ?? SettlementLog()
        log.forget(before: oldest)
        for event in events where event.number >= oldest {
            // What went well at once failed of nothing.
            let isPlain = end == .delivered && event.sends == 1
            log.append(
                event.number, sends: UInt32(truncatingIfNeeded: event.sends),
                cause: isPlain ? 0 : cause(event.number), end: end, at: wall.milliseconds)
        }
        logs[dispatcher] = log
    }

    /// A dispatcher is forgotten; another may get its number.
    mutating func forget(_ dispatcher: DispatcherNumber) { logs[dispatcher] = nil }

    // MARK: Looking

    /// The events of an id, the oldest first.
    func events(of id: String) -> [Remembered] {
        var id = id
        let wanted = id.withUTF8 { hash.of(UnsafeRawBufferPointer($0)) }
        let places = hashes.indices.filter { hashes[$0] == wanted }
        return places.map { remembered(rows[$0]) }.sorted { $0.sequenceNumber < $1.sequenceNumber }
    }

    private func remembered(_ row: Row) -> Remembered {
        Remembered(
            sequenceNumber: row.sequenceNumber, receivedAt: Timestamp(milliseconds: row.receivedAt), route: row.route,
            name: names[row.name].map(\.asJSONSays), namespace: row.namespace)
    }

    /// What became of an event for a dispatcher; nil when it has not ended, or that is not remembered.
    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        logs[dispatcher]?.line(of: sequenceNumber)
    }
}

extension String {
    /// What the inside of a JSON string says, of which this is the spelling.
    fileprivate var asJSONSays: String {
        guard utf8.contains(UInt8(ascii: "\\")) else { return self }
        var plain: [UInt8] = []
        Array(utf8).withUnsafeBytes { JSONUnescaper($0).append(to: &plain) }
        return String(decoding: plain, as: UTF8.self)
    }
}

/// To which namespaces the events of a group belong, in their order. Most have that of the one before.
struct NamespaceRuns {
    private var runs: [(namespace: TraceWords.Number, count: Int)] = []

    mutating func append(_ namespace: TraceWords.Number) {
        let last = runs.count - 1
        if last >= 0, runs[last].namespace == namespace {
            runs[last].count += 1
        } else {
            runs.append((namespace, 1))
        }
    }

    /// One after the other.
    fileprivate var numbers: Reader { Reader(runs: runs) }

    fileprivate struct Reader {
        let runs: [(namespace: TraceWords.Number, count: Int)]
        private var run = 0
        private var taken = 0

        init(runs: [(namespace: TraceWords.Number, count: Int)]) { self.runs = runs }

        mutating func next() -> TraceWords.Number? {
            guard run < runs.count else { return nil }
            let namespace = runs[run].namespace
            taken += 1
            if taken == runs[run].count { (run, taken) = (run + 1, 0) }
            return namespace
        }
    }
}

/// Reads the times of receipt of events that come one after the other: mostly that of one is that of the one before, which
/// needs no reading.
private struct ReceiptClock {
    private var text: (UInt64, UInt64, UInt64) = (0, 0, 0)
    private var milliseconds: Int64 = 0

    /// - Parameter spelled: `2026-11-20T09:41:55.123Z`; nil: not known.
    mutating func milliseconds(_ spelled: UnsafeRawBufferPointer?) -> Int64 {
        guard let spelled, spelled.count == 24 else { return 0 }
        let new = (
            spelled.loadUnaligned(as: UInt64.self), spelled.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            spelled.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        )
        if new != text {
            text = new
            milliseconds = Timestamp(rfc3339: spelled)?.milliseconds ?? 0
        }
        return milliseconds
    }
}
