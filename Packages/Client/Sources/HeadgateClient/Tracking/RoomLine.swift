/// The events that wait for room, in order. They are encoded when it is their turn. Until then they use little more
/// memory than in their program.
struct RoomLine {
    /// An event that waits.
    struct Entry {
        /// The moment at which its caller stops waiting, in nanoseconds of the monotonic clock; nil for never.
        var deadline: Int64?
        /// Makes the call.
        let begin: () -> Void
        /// Ends the wait without a call.
        let refuse: (any Error) -> Void
    }

    private struct Deadline: Comparable {
        let moment: Int64
        let call: CallNumber

        static func < (left: Deadline, right: Deadline) -> Bool {
            (left.moment, left.call) < (right.moment, right.call)
        }
    }

    private var entries: [CallNumber: Entry] = [:]
    /// The numbers of all entries in order, with some numbers of removed entries.
    private var order: [CallNumber] = []
    private var first = 0
    private var deadlines = SortedLine<Deadline>()

    var isEmpty: Bool { entries.isEmpty }

    /// The earliest deadline of an entry.
    var nextDeadline: Int64? { deadlines.first?.moment }

    mutating func append(_ entry: Entry, as number: CallNumber) {
        entries[number] = entry
        order.append(number)
        if let deadline = entry.deadline { deadlines.insert(Deadline(moment: deadline, call: number)) }
    }

    /// Removes and returns the first entry, or nil if there is none.
    mutating func takeFirst() -> Entry? {
        while first < order.count {
            let number = order[first]
            first += 1
            if let entry = remove(number) { return entry }
        }
        return nil
    }

    /// Removes and returns an entry, or nil if it is gone.
    mutating func remove(_ number: CallNumber) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        if let deadline = entry.deadline { deadlines.remove(Deadline(moment: deadline, call: number)) }
        if first > 1_024, first > order.count / 2 {
            order.removeFirst(first)
            first = 0
        }
        return entry
    }

    /// Removes and returns the entries whose deadlines have passed, in the order of their deadlines.
    mutating func takeLate(at now: Int64) -> [Entry] {
        var late: [Entry] = []
        while let deadline = deadlines.first, deadline.moment <= now {
            late += [remove(deadline.call)].compactMap { $0 }
        }
        return late
    }

    /// Removes and returns all entries in order.
    mutating func takeAll() -> [Entry] {
        var all: [Entry] = []
        while let entry = takeFirst() { all.append(entry) }
        return all
    }
}
