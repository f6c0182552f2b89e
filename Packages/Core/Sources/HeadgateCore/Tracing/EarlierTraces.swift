import HeadgateData

/// What became of events that an earlier daemon received and this one settled, the newest of them (Behaviour O2). Pure.
///
/// Such events are not in ``TraceMemory``, which remembers an event when it is received. One that several dispatchers settle has an
/// entry for each.
struct EarlierTraces {
    private var capacity: Int
    /// The hashes of the ids.
    private var hashes: [UInt64] = []
    private var entries: [Entry] = []
    /// The index of the oldest entry, once there are as many as may be.
    private var next = 0
    private var names: TraceWords
    private let hash: TraceHash

    private struct Entry {
        let line: SettlementLog.Line
        let dispatcher: DispatcherNumber
        /// Milliseconds of the wall clock.
        let receivedAt: Int64
        let route: RouteNumber
        let name: TraceWords.Number
    }

    /// An event that a dispatcher has done with.
    struct Settled {
        let sequenceNumber: SequenceNumber
        let dispatcher: DispatcherNumber
        let receivedAt: Timestamp?
        let route: RouteNumber
        /// Nil where too many have come since.
        let name: String?
    }

    private static let mostNames = 4_096

    init(capacity: Int, seed: UInt64) {
        self.capacity = capacity
        hash = TraceHash(seed: seed)
        names = TraceWords(most: EarlierTraces.mostNames, hash: hash)
    }

    /// Remembers so many from now on; of those that there are the newest stay.
    mutating func setCapacity(_ new: Int) {
        guard new != capacity else { return }
        let order = (0..<entries.count).map { (next + $0) % entries.count }.suffix(new)
        (hashes, entries, next) = (order.map { hashes[$0] }, order.map { entries[$0] }, 0)
        capacity = new
    }

    /// A dispatcher has done with an event.
    mutating func add(_ event: StoredEvent, _ line: SettlementLog.Line, by dispatcher: DispatcherNumber) {
        guard capacity > 0 else { return }
        var name: TraceWords.Number = 0
        let hash: UInt64 = event.withHead { head in
            name = names.number(of: head.name ?? UnsafeRawBufferPointer(start: nil, count: 0))
            return self.hash.ofJSONString(head.id)
        }
        let entry = Entry(
            line: line, dispatcher: dispatcher, receivedAt: event.receivedAt?.milliseconds ?? .min, route: event.route,
            name: name)
        guard entries.count >= capacity else {
            hashes.append(hash)
            return entries.append(entry)
        }
        (hashes[next], entries[next]) = (hash, entry)
        next = (next + 1) % capacity
    }

    /// A dispatcher is forgotten; another may get its number.
    mutating func forget(_ dispatcher: DispatcherNumber) {
        guard entries.contains(where: { $0.dispatcher == dispatcher }) else { return }
        let order = (0..<entries.count).map { (next + $0) % entries.count }.filter {
            entries[$0].dispatcher != dispatcher
        }
        (hashes, entries, next) = (order.map { hashes[$0] }, order.map { entries[$0] }, 0)
    }

    /// The events of an id, an entry for each dispatcher that has done with one.
    func events(of id: String) -> [Settled] {
        var id = id
        let wanted = id.withUTF8 { hash.of(UnsafeRawBufferPointer($0)) }
        return hashes.indices.filter { hashes[$0] == wanted }.map { settled(entries[$0]) }
    }

    private func settled(_ entry: Entry) -> Settled {
        Settled(
            sequenceNumber: entry.line.first, dispatcher: entry.dispatcher,
            receivedAt: entry.receivedAt == .min ? nil : Timestamp(milliseconds: entry.receivedAt), route: entry.route,
            name: names[entry.name].map(\.asJSONSays))
    }

    /// What became of an event for a dispatcher; nil when that is not remembered.
    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        entries.last { $0.dispatcher == dispatcher && $0.line.first == sequenceNumber }?.line
    }
}
