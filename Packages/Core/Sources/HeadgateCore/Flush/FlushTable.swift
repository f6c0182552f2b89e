/// All flushes under way (Behaviour F1–F4). Pure: told what is settled and what time it is, it says which flushes end.
struct FlushTable {
    /// What a flush still has to see settled at one dispatcher.
    struct Part: Equatable {
        /// The newest event that the flush covers.
        var target: SequenceNumber
        /// Covered events that are not settled.
        var left: Int
        var sent = 0
        var failed = 0

        /// Nothing more of it will be settled.
        mutating func endHere() {
            failed += left
            left = 0
        }
    }

    struct Flush {
        var parts: [String: Part]
        /// When it ends in any case; nil: never.
        var deadline: Instant?

        var isSettled: Bool { parts.values.allSatisfy { $0.left == 0 } }
    }

    private(set) var flushes: [String: Flush] = [:]

    /// The earliest moment at which a flush runs out of time.
    var nextDeadline: Instant? {
        flushes.values.compactMap(\.deadline).min()
    }

    /// Begins a flush. Those that have nothing to wait for are over when ``takeSettled()`` is called next.
    mutating func start(_ id: String, _ flush: Flush) {
        flushes[id] = flush
    }

    /// Whether flushable barriers of a dispatcher are ignored now, and up to which event: flushes merge (Behaviour F4).
    func target(for dispatcher: String) -> SequenceNumber? {
        flushes.values.compactMap { flush in
            flush.parts[dispatcher].flatMap { $0.left > 0 ? $0.target : nil }
        }.max()
    }

    /// Events of a dispatcher are settled: `sent`, or given up. So are all up to `position`: what a flush still misses
    /// of these is lost, and it does not wait for that.
    mutating func settled(
        _ sequenceNumbers: some Collection<SequenceNumber>, of dispatcher: String, sent: Bool, position: SequenceNumber
    ) {
        settle(sequenceNumbers, of: dispatcher, position: position) { part, covered in
            part.sent += sent ? covered : 0
            part.failed += sent ? 0 : covered
        }
    }

    /// Events of a dispatcher were dropped, as somebody wanted: they are neither sent nor failed (Behaviour P4).
    mutating func dropped(
        _ sequenceNumbers: some Collection<SequenceNumber>, of dispatcher: String, position: SequenceNumber
    ) {
        settle(sequenceNumbers, of: dispatcher, position: position) { _, _ in }
    }

    private mutating func settle(
        _ sequenceNumbers: some Collection<SequenceNumber>, of dispatcher: String, position: SequenceNumber,
        _ count: (inout Part, Int) -> Void
    ) {
        for id in flushes.keys {
            guard var part = flushes[id]?.parts[dispatcher], part.left > 0 else { continue }
            let covered = sequenceNumbers.reduce(0) { $0 + ($1 <= part.target ? 1 : 0) }
            part.left = max(0, part.left - covered)
            count(&part, covered)
            if position >= part.target { part.endHere() }
            flushes[id]?.parts[dispatcher] = part
        }
    }

    /// No more than so many of the events that a flush covers are left of a dispatcher's.
    mutating func limit(_ id: String, _ dispatcher: String, to most: Int) {
        guard let left = flushes[id]?.parts[dispatcher]?.left else { return }
        flushes[id]?.parts[dispatcher]?.left = min(left, most)
    }

    /// A dispatcher is gone, and nobody waits for it any more.
    mutating func remove(_ dispatcher: String) {
        for id in flushes.keys { flushes[id]?.parts[dispatcher]?.left = 0 }
    }

    /// Ends the flushes that have nothing left.
    mutating func takeSettled() -> [(id: String, flush: Flush)] {
        take { $0.isSettled }
    }

    /// Ends the flushes whose time is over.
    mutating func takeExpired(at now: Instant) -> [(id: String, flush: Flush)] {
        take { $0.deadline.map { $0 <= now } ?? false }
    }

    /// Ends one; nil when there is none of this id.
    mutating func take(_ id: String) -> Flush? {
        flushes.removeValue(forKey: id)
    }

    private mutating func take(where isOver: (Flush) -> Bool) -> [(id: String, flush: Flush)] {
        let over = flushes.filter { isOver($0.value) }
        for id in over.keys { flushes[id] = nil }
        return over.map { ($0.key, $0.value) }
    }
}
