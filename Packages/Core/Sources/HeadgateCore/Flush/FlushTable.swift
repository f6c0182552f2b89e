import HeadgateData

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
        /// True if the dispatcher was removed: what is left is not waited for.
        var isGone = false

        /// True if nothing more of it can end: all is settled, or the dispatcher was removed.
        var isOver: Bool { left == 0 || isGone }

        /// Nothing more of it will be settled.
        mutating func endHere() {
            failed += left
            left = 0
        }
    }

    struct Flush {
        /// What no other flush under way is called.
        let id: String
        var parts: [String: Part]
        /// When it began, by the wall clock.
        var since = Timestamp(milliseconds: 0)
        /// After which it ends in any case; nil: never.
        var timeout: Duration?
        /// When it ends in any case; nil: never.
        var deadline: Instant?

        var isSettled: Bool { parts.values.allSatisfy { $0.left == 0 } }

        /// How it ended, if nothing else ended it before: with something left it ran out of time, unless all of that was for
        /// dispatchers that are removed.
        var end: FlushAnswer.End {
            if isSettled { return .settled }
            return parts.values.allSatisfy(\.isOver) ? .cancelled : .timeout
        }

        fileprivate func isOver(at now: Instant?) -> Bool {
            if parts.values.allSatisfy(\.isOver) { return true }
            guard let now, let deadline else { return false }
            return deadline <= now
        }
    }

    /// In the order in which they were begun.
    private(set) var flushes: [Flush] = []

    /// The earliest moment at which a flush runs out of time.
    var nextDeadline: Instant? {
        flushes.compactMap(\.deadline).min()
    }

    /// Begins a flush. One that has nothing to wait for is over when ``takeOver(at:)`` is called next.
    mutating func start(_ flush: Flush) {
        flushes.append(flush)
    }

    /// Whether flushable barriers of a dispatcher are ignored now, and up to which event: flushes merge (Behaviour F4).
    func target(for dispatcher: String) -> SequenceNumber? {
        if flushes.isEmpty { return nil }
        return flushes.compactMap { flush in
            flush.parts[dispatcher].flatMap { $0.isOver ? nil : $0.target }
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
        for place in flushes.indices {
            guard var part = flushes[place].parts[dispatcher], part.left > 0 else { continue }
            let covered = sequenceNumbers.reduce(0) { $0 + ($1 <= part.target ? 1 : 0) }
            part.left = max(0, part.left - covered)
            count(&part, covered)
            if position >= part.target { part.endHere() }
            flushes[place].parts[dispatcher] = part
        }
    }

    /// No more than so many of the events that a flush covers are left of a dispatcher's.
    mutating func limit(_ id: String, _ dispatcher: String, to most: Int) {
        guard let place = place(of: id), let left = flushes[place].parts[dispatcher]?.left else { return }
        flushes[place].parts[dispatcher]?.left = min(left, most)
    }

    /// A dispatcher is removed: nobody waits for what is left of it.
    mutating func remove(_ dispatcher: String) {
        for place in flushes.indices { flushes[place].parts[dispatcher]?.isGone = true }
    }

    /// Ends the flushes that have nothing left, or no time, those that were begun first in front.
    /// - Parameter now: nil: time is not looked at. After the process stood still an answer may come first of which another flush
    ///   would be told too late.
    mutating func takeOver(at now: Instant?) -> [Flush] {
        let over = flushes.filter { $0.isOver(at: now) }
        if !over.isEmpty { flushes.removeAll { $0.isOver(at: now) } }
        return over
    }

    /// Ends one; nil when there is none of this id.
    mutating func take(_ id: String) -> Flush? {
        place(of: id).map { flushes.remove(at: $0) }
    }

    private func place(of id: String) -> Int? {
        flushes.firstIndex { ExactName($0.id) == ExactName(id) }
    }
}
