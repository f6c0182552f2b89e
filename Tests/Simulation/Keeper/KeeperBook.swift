import HeadgateCore

/// The model of the events in a ``KeeperHistory``.
final class KeeperBook {
    struct Event {
        /// The person whom the event concerns. An erasure removes the events of one person.
        let user: Int
        let key: String?
        let queues: Set<String>
        /// The true time at which the event was tracked.
        let requestedAt: Int64
        var number: SequenceNumber?
        /// The true time at which the event was acknowledged, or nil if it was not.
        var acknowledgedAt: Int64?
        var erasure = Erasure.none

        var isAcknowledged: Bool { acknowledgedAt != nil }
    }

    enum Erasure {
        /// The event was not erased.
        case none
        /// The event may be erased: the erasure was not answered, or the event was tracked during it.
        case perhaps
        /// The event is certainly erased.
        case certain
    }

    /// The prefix of each event's unique mark. The mark occurs in the event's id and data only.
    static let mark = "mark-"

    private var events: [Event] = []
    private(set) var queues: [KeeperQueue] = []
    /// The store keeps all events after this number. Nil if it need not keep delivered events.
    var keptBehind: SequenceNumber?
    /// The person whose events are being erased.
    private var erasing: Int?
    private let record: Record

    init(_ record: Record) {
        self.record = record
        queues = ["a", "b"].map { KeeperQueue($0, record, self) }
    }

    subscript(index: Int) -> Event { events[index] }
    var count: Int { events.count }
    /// The highest known sequence number.
    var highest: SequenceNumber { events.compactMap(\.number).max() ?? 0 }

    /// Returns true if an event is kept whether or not it is delivered.
    func isKept(_ index: Int) -> Bool { keptBehind.map { $0 < events[index].number ?? 0 } ?? false }

    /// The acknowledged events that are kept whether or not they are delivered.
    var retained: Set<Int> {
        Set(events.indices.filter { events[$0].isAcknowledged && events[$0].erasure == .none && isKept($0) })
    }

    /// Returns the number of unacknowledged events for a dispatcher.
    func unacknowledged(for queue: String) -> Int { events.count { !$0.isAcknowledged && $0.queues.contains(queue) } }

    // MARK: Events

    /// Adds an event that is being tracked.
    /// - Returns: Its index.
    func track(_ event: Event) -> Int {
        events.append(event)
        if event.user == erasing { events[events.count - 1].erasure = .perhaps }
        return events.count - 1
    }

    func acknowledged(_ index: Int, _ number: SequenceNumber, at time: Int64) {
        knows(index, number)
        events[index].acknowledgedAt = time
        guard events[index].erasure == .none else { return }
        for queue in queues where events[index].queues.contains(queue.id) { queue.stored(index) }
    }

    func knows(_ index: Int, _ number: SequenceNumber) {
        let known = events[index].number
        record.insist(known ?? number == number, "an event has two numbers: \(known ?? 0), \(number)")
        events[index].number = number
    }

    // MARK: Erasures

    /// Records that the erasure of a person's events was requested. Returns the acknowledged ones.
    func requestsErasure(of user: Int) -> [Int] {
        erasing = user
        let matching = events.indices.filter { events[$0].user == user && events[$0].erasure != .certain }
        for index in matching { mayBeGone(index) }
        return matching.filter { events[$0].isAcknowledged }
    }

    private func mayBeGone(_ index: Int) {
        events[index].erasure = .perhaps
        for queue in queues { queue.mayBeGone(index) }
    }

    func erased(_ matching: [Int]) {
        for index in matching { events[index].erasure = .certain }
        erasing = nil
    }

    func notErased() { erasing = nil }

    /// Records the events that the store reports as erased after a start.
    func found(erased numbers: Set<SequenceNumber>) {
        guard !numbers.isEmpty else { return }
        record.count(.erasureContinued)
        for index in events.indices where events[index].number.map(numbers.contains) == true {
            record.insist(events[index].erasure != .none, "\(events[index].number ?? 0) is erased without a request")
            events[index].erasure = .certain
        }
    }

    /// Returns the acknowledged events of a person that are certainly not erased.
    func certain(of user: Int) -> [Int] {
        events.indices.filter { events[$0].user == user && events[$0].isAcknowledged && events[$0].erasure == .none }
    }

    /// Returns the number of events of a person that may be stored.
    func possible(of user: Int) -> Int { events.count { $0.user == user && $0.erasure != .certain } }

    /// Returns true if a dispatcher certainly needs an event.
    func isDue(_ index: Int) -> Bool { queues.contains { $0.due.contains(index) } }

    /// The events that are certainly erased.
    var erased: Set<Int> { Set(events.indices.filter { events[$0].erasure == .certain }) }

    func lifeEnded(isOrderly: Bool) {
        erasing = nil
        for queue in queues { queue.lifeEnded(isOrderly: isOrderly) }
    }
}

extension SimulatedMedium {
    /// The indexes of the events whose marks occur in any file.
    var marks: Set<Int> { names.values.reduce(into: []) { $0.formUnion(KeeperMarks.find(in: $1.bytes)) } }

    /// Returns the names of the files that contain the mark of an event.
    func files(with index: Int) -> [String] {
        names.filter { KeeperMarks.find(in: $0.value.bytes).contains(index) }.keys.sorted()
    }
}

enum KeeperMarks {
    /// Returns the indexes of the events whose marks are in some bytes.
    static func find(in bytes: [UInt8]) -> Set<Int> {
        var (found, position): (Set<Int>, Int) = ([], 0)
        let mark = Array(KeeperBook.mark.utf8)
        while position + mark.count < bytes.count {
            guard bytes[position] == mark[0], bytes[position..<position + mark.count].elementsEqual(mark) else {
                position += 1
                continue
            }
            position += mark.count
            var number = 0
            while position < bytes.count, (48...57).contains(bytes[position]) {
                number = 10 * number + Int(bytes[position] - 48)
                position += 1
            }
            // A truncated mark does not identify its event.
            if position < bytes.count, bytes[position] == UInt8(ascii: ".") { found.insert(number) }
        }
        return found
    }
}
