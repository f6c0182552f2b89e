import HeadgateData

/// The memory of the newest stored events, for tracing each by its id (Behaviour O2). Pure.
///
/// An event takes 40 bytes, and part of a 32-byte line for each dispatcher (``SettlementLog``). There is no index: a
/// query searches the hashes of all ids, half a megabyte by default. Events that are never asked for thus cost no
/// upkeep.
struct TraceMemory {
    /// The number of events that are remembered.
    private(set) var capacity: Int
    /// The hashes of the ids.
    private var hashes: [UInt64] = []
    private var rows: [TraceRow] = []
    /// The index of the oldest event, once the capacity is reached.
    private var next = 0
    private var logs: [DispatcherNumber: SettlementLog] = [:]
    private var names: InternedTexts
    private let hash: TraceHash

    /// A remembered event.
    struct Remembered: Equatable {
        let sequenceNumber: SequenceNumber
        let receivedAt: Timestamp
        let route: RouteNumber
        /// The event's name; nil if it was forgotten because of too many other names.
        let name: String?
        let namespace: InternedTexts.Number
    }

    private static let mostNames = 4_096

    /// - Parameters:
    ///   - capacity: the number of events to remember; 0 for none.
    ///   - seed: the key for hashing ids.
    init(capacity: Int, seed: UInt64) {
        self.capacity = capacity
        hash = TraceHash(seed: seed)
        names = InternedTexts(most: TraceMemory.mostNames, hash: hash)
    }

    /// Changes the capacity. The newest events are kept.
    mutating func setCapacity(_ new: Int) {
        guard new != capacity else { return }
        let order = (0..<rows.count).map { (next + $0) % rows.count }.suffix(new)
        (hashes, rows, next) = (order.map { hashes[$0] }, order.map { rows[$0] }, 0)
        capacity = new
        if new == 0 { logs = [:] } else { forgetSettled() }
    }

    /// The oldest remembered event. All stored events from it on are remembered. Nil if there is none.
    var oldest: SequenceNumber? { rows.isEmpty ? nil : rows[rows.count < capacity ? 0 : next].sequenceNumber }

    // MARK: Facts

    /// Adds the entry of an accepted event to those of its group, for the time when the group is stored. The parts of
    /// the event are in memory now, and would have to be read again later.
    /// - Parameters:
    ///   - id: the id as a JSON string.
    ///   - name: the name as a JSON string.
    mutating func accepted(
        id: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer, _ sequenceNumber: SequenceNumber,
        receivedAt: Timestamp, route: RouteNumber, namespace: InternedTexts.Number, in group: inout TraceGroup
    ) {
        guard capacity > 0 else { return }
        let row = TraceRow(
            sequenceNumber: sequenceNumber, receivedAt: receivedAt.milliseconds, route: route,
            name: names.number(of: name), namespace: namespace)
        group.events.append((hash.ofJSONString(id), row))
    }

    /// Remembers the events of a group that has been stored.
    mutating func stored(_ group: TraceGroup) {
        guard capacity > 0 else { return }
        let free = group.events.prefix(capacity - rows.count)
        for event in free {
            hashes.append(event.hash)
            rows.append(event.row)
        }
        var rest = group.events[free.endIndex...]
        while !rest.isEmpty {
            let piece = rest.prefix(capacity - next)
            overwrite(piece)
            rest = rest[piece.endIndex...]
            next += piece.count
            guard next == capacity else { break }
            next = 0
            forgetSettled()
        }
    }

    /// Overwrites the oldest events, from ``next`` on.
    private mutating func overwrite(_ events: ArraySlice<TraceGroup.Event>) {
        hashes.withUnsafeMutableBufferPointer { hashes in
            rows.withUnsafeMutableBufferPointer { rows in
                for (index, event) in zip(next..., events) { (hashes[index], rows[index]) = event }
            }
        }
    }

    /// Forgets the outcomes of old events, also for dispatchers that settle nothing any more.
    private mutating func forgetSettled() {
        guard let oldest else { return }
        for number in logs.keys { logs[number]?.forget(before: oldest) }
    }

    /// Records that a dispatcher has settled events.
    /// - Parameters:
    ///   - events: the events in ascending order.
    ///   - cause: returns the cause of an event's last failed attempt.
    mutating func settled(
        _ events: [SettledEvent], by dispatcher: DispatcherNumber, as end: DeliveryOutcome, at wall: Timestamp,
        cause: (SequenceNumber) -> InternedTexts.Number
    ) {
        guard capacity > 0, let oldest else { return }
        var log = logs.removeValue(forKey: dispatcher) ?? SettlementLog()
        log.forget(before: oldest)
        var line: SettlementLog.Line?
        for event in events where event.sequenceNumber >= oldest {
            let (number, sends) = (event.sequenceNumber, event.sends)
            // An event that was never sent, or was delivered at the first attempt, has no cause. Skipping the search
            // saves time.
            let isPlain = sends == 0 || end == .delivered && sends == 1
            let next = SettlementLog.Line(
                first: number, count: 1, sends: sends,
                cause: isPlain ? 0 : cause(number), end: end, at: wall.milliseconds)
            guard line?.join(next) != true else { continue }
            if let line { log.append(line) }
            line = next
        }
        if let line { log.append(line) }
        logs[dispatcher] = log
    }

    /// Forgets a dispatcher, whose number may be reused.
    mutating func forget(_ dispatcher: DispatcherNumber) { logs[dispatcher] = nil }

    /// Forgets the names of events.
    mutating func forgetNames(of numbers: Set<SequenceNumber>) {
        for index in rows.indices where numbers.contains(rows[index].sequenceNumber) { rows[index].name = 0 }
    }

    // MARK: Queries

    /// Returns the events with an id, the oldest first.
    func events(of id: String) -> [Remembered] {
        var id = id
        let target = id.withUTF8 { hash.of(UnsafeRawBufferPointer($0)) }
        let indexes = hashes.indices.filter { hashes[$0] == target }
        return indexes.map { remembered(rows[$0]) }.sorted { $0.sequenceNumber < $1.sequenceNumber }
    }

    private func remembered(_ row: TraceRow) -> Remembered {
        Remembered(
            sequenceNumber: row.sequenceNumber, receivedAt: Timestamp(milliseconds: row.receivedAt), route: row.route,
            name: names[row.name].map(\.asJSONSays), namespace: row.namespace)
    }

    /// Returns the outcome of an event for a dispatcher, or nil if it is not settled or not remembered.
    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        logs[dispatcher]?.line(of: sequenceNumber)
    }
}

extension String {
    /// The text of a JSON string, whose end may be cut off.
    var asJSONSays: String {
        let isWhole = utf8.count >= 2 && utf8.last == UInt8(ascii: "\"")
        let spelled = utf8.dropFirst().dropLast(isWhole ? 1 : 0)
        guard spelled.contains(UInt8(ascii: "\\")) else { return String(Substring(spelled)) }
        var plain: [UInt8] = []
        Array(spelled).withUnsafeBytes { JSONUnescaper($0).append(to: &plain) }
        return String(decoding: plain, as: UTF8.self)
    }
}

/// The remembered data of an event, except the hash of its id.
struct TraceRow {
    let sequenceNumber: SequenceNumber
    /// The wall-clock time of receipt in milliseconds.
    let receivedAt: Int64
    let route: RouteNumber
    var name: InternedTexts.Number
    let namespace: InternedTexts.Number
}

/// The trace entries of a group's events, for the time when the group is stored.
struct TraceGroup {
    typealias Event = (hash: UInt64, row: TraceRow)

    fileprivate var events: [Event] = []

    /// - Parameter count: the expected number of events.
    init(expecting count: Int = 0) {
        events.reserveCapacity(count)
    }
}
