import HeadgateData

/// All running flushes (Behaviour F1–F4). Pure: given settled events and the time, it returns the flushes that end.
struct FlushTable {
    /// The state of a flush at one dispatcher.
    struct Part: Equatable {
        /// The newest event that the flush covers.
        var target: SequenceNumber
        /// The number of covered events that are not settled.
        var left: Int
        var sent = 0
        var failed = 0
        /// True if the flush covers events that a rewind made pending again: the dispatcher was not rewound since the flush
        /// began.
        var coversReplays = true
        /// True if the dispatcher was removed: the flush does not wait for its remaining events.
        var isGone = false

        /// True if the flush waits for nothing more at this dispatcher: all is settled, or the dispatcher was removed.
        var isOver: Bool { left == 0 || isGone }

        /// Counts the remaining events as failed.
        mutating func endHere() {
            failed += left
            left = 0
        }
    }

    struct Flush {
        /// The flush's name, unique among running flushes.
        let id: String
        var parts: [String: Part]
        /// The wall-clock time at which the flush began.
        var since = Timestamp(milliseconds: 0)
        /// The time after which the flush ends in any case; nil for no timeout.
        var timeout: Duration?
        /// The time at which the flush ends in any case; nil for no timeout.
        var deadline: Instant?

        var isSettled: Bool { parts.values.allSatisfy { $0.left == 0 } }

        /// The way in which the flush ends by itself. If events are left, it has timed out, unless all of them are of
        /// removed dispatchers.
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

    /// The running flushes, in the order of their starts.
    private(set) var flushes: [Flush] = []

    /// The earliest time at which a flush times out.
    var nextDeadline: Instant? {
        flushes.compactMap(\.deadline).min()
    }

    /// Starts a flush. A flush with nothing to wait for ends at the next call of ``takeOver(at:)``.
    mutating func start(_ flush: Flush) {
        flushes.append(flush)
    }

    /// Returns the last event of a dispatcher that a flush covers, or nil if the dispatcher is not being flushed.
    /// Flushes of a dispatcher merge (Behaviour F4).
    func target(for dispatcher: String) -> SequenceNumber? {
        if flushes.isEmpty { return nil }
        return flushes.compactMap { flush in
            flush.parts[dispatcher].flatMap { $0.isOver ? nil : $0.target }
        }.max()
    }

    /// Records settled events of a dispatcher, either delivered (`sent`) or dropped. All events up to `position` are
    /// settled as well. Covered events that are missing among them are lost, and the flush does not wait for them.
    /// - Parameter replayed: further settled events, which a rewind had made pending again.
    mutating func settled(
        _ sequenceNumbers: some Collection<SequenceNumber>, replayed: [SequenceNumber] = [], of dispatcher: String,
        sent: Bool, position: SequenceNumber
    ) {
        settle(sequenceNumbers, replayed, of: dispatcher, position: position) { part, covered in
            part.sent += sent ? covered : 0
            part.failed += sent ? 0 : covered
        }
    }

    /// Records events that a transformation dropped: they count neither as sent nor as failed (Behaviour P4).
    mutating func dropped(
        _ sequenceNumbers: some Collection<SequenceNumber>, replayed: [SequenceNumber] = [], of dispatcher: String,
        position: SequenceNumber
    ) {
        settle(sequenceNumbers, replayed, of: dispatcher, position: position) { _, _ in }
    }

    /// Records that a dispatcher was rewound. Running flushes do not cover what is pending again.
    mutating func rewound(_ dispatcher: String) {
        for index in flushes.indices { flushes[index].parts[dispatcher]?.coversReplays = false }
    }

    private mutating func settle(
        _ sequenceNumbers: some Collection<SequenceNumber>, _ replayed: [SequenceNumber], of dispatcher: String,
        position: SequenceNumber, _ count: (inout Part, Int) -> Void
    ) {
        for index in flushes.indices {
            guard var part = flushes[index].parts[dispatcher], part.left > 0 else { continue }
            var covered = sequenceNumbers.reduce(0) { $0 + ($1 <= part.target ? 1 : 0) }
            if part.coversReplays { covered += replayed.reduce(0) { $0 + ($1 <= part.target ? 1 : 0) } }
            part.left = max(0, part.left - covered)
            count(&part, covered)
            if position >= part.target { part.endHere() }
            flushes[index].parts[dispatcher] = part
        }
    }

    /// Limits the number of remaining events of a flush at a dispatcher.
    mutating func limit(_ id: String, _ dispatcher: String, to most: Int) {
        guard let index = index(of: id), let left = flushes[index].parts[dispatcher]?.left else { return }
        flushes[index].parts[dispatcher]?.left = min(left, most)
    }

    /// Records the removal of a dispatcher: flushes no longer wait for its events.
    mutating func remove(_ dispatcher: String) {
        for index in flushes.indices { flushes[index].parts[dispatcher]?.isGone = true }
    }

    /// Removes and returns the flushes that have ended, in the order of their starts.
    /// - Parameter now: the present time; nil to ignore deadlines. After the process was stopped for a while, an answer
    ///   may be processed before other input, and must not make another flush time out.
    mutating func takeOver(at now: Instant?) -> [Flush] {
        let over = flushes.filter { $0.isOver(at: now) }
        if !over.isEmpty { flushes.removeAll { $0.isOver(at: now) } }
        return over
    }

    /// Removes and returns a flush, or nil if there is none with this id.
    mutating func take(_ id: String) -> Flush? {
        index(of: id).map { flushes.remove(at: $0) }
    }

    private func index(of id: String) -> Int? {
        flushes.firstIndex { ExactName($0.id) == ExactName(id) }
    }
}
