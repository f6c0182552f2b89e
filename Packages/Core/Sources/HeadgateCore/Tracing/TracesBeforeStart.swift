import HeadgateData

/// The outcomes of events that an earlier daemon received and this one settled; the newest ones are kept (Behaviour
/// O2). Pure.
///
/// These events are not in ``TraceMemory``, which records events when they are received. An event has one entry per
/// dispatcher that settled it.
struct TracesBeforeStart {
    private var capacity: Int
    /// The hashes of the ids.
    private var hashes: [UInt64] = []
    private var entries: [Entry] = []
    /// The index of the oldest entry, once the capacity is reached.
    private var next = 0
    private var names: InternedTexts
    private let hash: TraceHash

    private struct Entry {
        let line: SettlementLog.Line
        let dispatcher: DispatcherNumber
        /// The wall-clock time of receipt in milliseconds.
        let receivedAt: Int64
        let route: RouteNumber
        var name: InternedTexts.Number
        /// The namespace as the event's context gives it.
        let namespace: InternedTexts.Number
    }

    /// An event that a dispatcher has settled.
    struct Settled {
        let sequenceNumber: SequenceNumber
        let dispatcher: DispatcherNumber
        let receivedAt: Timestamp?
        let route: RouteNumber
        /// The event's name; nil if it was forgotten because of too many other names.
        let name: String?
        /// The number of the namespace that the event's context gives; 0 if the context does not say.
        let namespace: InternedTexts.Number
    }

    private static let mostNames = 4_096

    init(capacity: Int, seed: UInt64) {
        self.capacity = capacity
        hash = TraceHash(seed: seed)
        names = InternedTexts(most: TracesBeforeStart.mostNames, hash: hash)
    }

    /// Changes the capacity. The newest entries are kept.
    mutating func setCapacity(_ new: Int) {
        guard new != capacity else { return }
        let order = (0..<entries.count).map { (next + $0) % entries.count }.suffix(new)
        (hashes, entries, next) = (order.map { hashes[$0] }, order.map { entries[$0] }, 0)
        capacity = new
    }

    /// Records that a dispatcher has settled an event.
    /// - Parameter namespace: the number of the namespace that the event's context gives.
    mutating func add(
        _ event: StoredEvent, _ line: SettlementLog.Line, by dispatcher: DispatcherNumber,
        namespace: InternedTexts.Number
    ) {
        guard capacity > 0 else { return }
        var name: InternedTexts.Number = 0
        let hash: UInt64 = event.withHead { head in
            name = names.number(of: head.name ?? UnsafeRawBufferPointer(start: nil, count: 0))
            return self.hash.ofJSONString(head.id)
        }
        let entry = Entry(
            line: line, dispatcher: dispatcher, receivedAt: event.receivedAt?.milliseconds ?? .min, route: event.route,
            name: name, namespace: namespace)
        guard entries.count >= capacity else {
            hashes.append(hash)
            return entries.append(entry)
        }
        (hashes[next], entries[next]) = (hash, entry)
        next = (next + 1) % capacity
    }

    /// Forgets a dispatcher, whose number may be reused.
    mutating func forget(_ dispatcher: DispatcherNumber) {
        guard entries.contains(where: { $0.dispatcher == dispatcher }) else { return }
        let order = (0..<entries.count).map { (next + $0) % entries.count }.filter {
            entries[$0].dispatcher != dispatcher
        }
        (hashes, entries, next) = (order.map { hashes[$0] }, order.map { entries[$0] }, 0)
    }

    /// Forgets the names of events.
    mutating func forgetNames(of numbers: Set<SequenceNumber>) {
        for index in entries.indices where numbers.contains(entries[index].line.first) { entries[index].name = 0 }
    }

    /// Returns the entries for an id, one per dispatcher that settled an event with it.
    func events(of id: String) -> [Settled] {
        var id = id
        let target = id.withUTF8 { hash.of(UnsafeRawBufferPointer($0)) }
        return hashes.indices.filter { hashes[$0] == target }.map { settled(entries[$0]) }
    }

    private func settled(_ entry: Entry) -> Settled {
        Settled(
            sequenceNumber: entry.line.first, dispatcher: entry.dispatcher,
            receivedAt: entry.receivedAt == .min ? nil : Timestamp(milliseconds: entry.receivedAt), route: entry.route,
            name: names[entry.name].map(\.asJSONSays), namespace: entry.namespace)
    }

    /// Returns the outcome of an event for a dispatcher, or nil if it is not recorded.
    func outcome(of sequenceNumber: SequenceNumber, for dispatcher: DispatcherNumber) -> SettlementLog.Line? {
        entries.last { $0.dispatcher == dispatcher && $0.line.first == sequenceNumber }?.line
    }
}
