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
    private var rows: [TraceRow] = []
    /// The place of the oldest, once all places are taken.
    private var next = 0
    private var logs: [DispatcherNumber: SettlementLog] = [:]
    private var names: TraceWords
    private let hash: TraceHash

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

    /// An event is accepted: what is to be remembered of it once it is stored is put to that of its group. All of it is at
    /// hand now, and would have to be read again later.
    /// - Parameters:
    ///   - id: its id's JSON string.
    ///   - name: its name's JSON string.
    mutating func accepted(
        id: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer, _ sequenceNumber: SequenceNumber,
        receivedAt: Timestamp, route: RouteNumber, namespace: TraceWords.Number, in group: inout TraceGroup
    ) {
        guard capacity > 0 else { return }
        let row = TraceRow(
            sequenceNumber: sequenceNumber, receivedAt: receivedAt.milliseconds, route: route,
            name: names.number(of: name), namespace: namespace)
        group.events.append((hash.ofJSONString(id), row))
    }

    /// A group of events is stored.
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

    /// Puts events in the places of the oldest, as many as there are up to the end.
    private mutating func overwrite(_ events: ArraySlice<TraceGroup.Event>) {
        hashes.withUnsafeMutableBufferPointer { hashes in
            rows.withUnsafeMutableBufferPointer { rows in
                for (place, event) in zip(next..., events) { (hashes[place], rows[place]) = event }
            }
        }
    }

    /// Who settles nothing any more forgets nothing by itself.
    private mutating func forgetSettled() {
        guard let oldest else { return }
        for number in logs.keys { logs[number]?.forget(before: oldest) }
    }

    /// A dispatcher has done with some events.
    /// - Parameters:
    ///   - events: in ascending order.
    ///   - cause: what the last attempt of an event failed of.
    mutating func settled(
        _ events: [SettledEvent], by dispatcher: DispatcherNumber, as end: DeliveryEnd, at wall: Timestamp,
        cause: (SequenceNumber) -> TraceWords.Number
    ) {
        guard capacity > 0, let oldest else { return }
        var log = logs.removeValue(forKey: dispatcher) ?? SettlementLog()
        log.forget(before: oldest)
        var line: SettlementLog.Line?
        for event in events where event.sequenceNumber >= oldest {
            let (number, sends) = (event.sequenceNumber, event.sends)
            // What was never sent, or went well at once, failed of nothing: to look for what would be a walk for each.
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

    /// A dispatcher is forgotten; another may get its number.
    mutating func forget(_ dispatcher: DispatcherNumber) { logs[dispatcher] = nil }

    // MARK: Queries

    /// The events of an id, the oldest first.
    func events(of id: String) -> [Remembered] {
        var id = id
        let wanted = id.withUTF8 { hash.of(UnsafeRawBufferPointer($0)) }
        let places = hashes.indices.filter { hashes[$0] == wanted }
        return places.map { remembered(rows[$0]) }.sorted { $0.sequenceNumber < $1.sequenceNumber }
    }

    private func remembered(_ row: TraceRow) -> Remembered {
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
    /// What a JSON string says of which this is the spelling; the end may be cut off.
    var asJSONSays: String {
        let isWhole = utf8.count >= 2 && utf8.last == UInt8(ascii: "\"")
        let spelled = utf8.dropFirst().dropLast(isWhole ? 1 : 0)
        guard spelled.contains(UInt8(ascii: "\\")) else { return String(Substring(spelled)) }
        var plain: [UInt8] = []
        Array(spelled).withUnsafeBytes { JSONUnescaper($0).append(to: &plain) }
        return String(decoding: plain, as: UTF8.self)
    }
}

/// What is remembered of an event beside the hash of its id.
struct TraceRow {
    let sequenceNumber: SequenceNumber
    /// Milliseconds of the wall clock.
    let receivedAt: Int64
    let route: RouteNumber
    let name: TraceWords.Number
    let namespace: TraceWords.Number
}

/// What is to be remembered of the events of a group, once that is stored.
struct TraceGroup {
    typealias Event = (hash: UInt64, row: TraceRow)

    fileprivate var events: [Event] = []

    /// - Parameter count: about how many.
    init(expecting count: Int = 0) {
        events.reserveCapacity(count)
    }
}
