import HeadgateData

/// The outcomes of the events that one dispatcher has settled; the newest ones are kept. Consecutive events with the
/// same outcome share a line. Pure.
///
/// A batch is mostly one line, so recording costs next to nothing. Queries search the lines in sequence.
struct SettlementLog {
    /// Consecutive events with the same outcome.
    struct Line: Equatable {
        let first: SequenceNumber
        var count: UInt32
        /// The number of times that each event was sent.
        let sends: UInt32
        /// The cause of the last failed attempt; 0 if there was none.
        let cause: InternedTexts.Number
        let end: DeliveryOutcome
        /// The wall-clock time in milliseconds.
        let at: Int64

        var last: SequenceNumber { first + SequenceNumber(count) - 1 }

        /// Appends a line for the next events with the same outcome.
        /// - Returns: false if the lines cannot be joined.
        mutating func join(_ next: Line) -> Bool {
            guard first + SequenceNumber(count) == next.first, sends == next.sends, cause == next.cause,
                end == next.end, at == next.at
            else { return false }
            count += next.count
            return true
        }

        func covers(_ sequenceNumber: SequenceNumber) -> Bool {
            first <= sequenceNumber && sequenceNumber <= last
        }
    }

    private var lines: [Line] = []
    /// The index of the first line in use.
    private var head = 0

    /// The number of lines.
    var count: Int { lines.count - head }

    /// Adds the outcome of some events, and joins it with the last line if possible.
    mutating func append(_ line: Line) {
        guard lines.count > head, lines[lines.count - 1].join(line) else { return lines.append(line) }
    }

    /// Returns the last outcome of an event, or nil if there is none.
    func line(of sequenceNumber: SequenceNumber) -> Line? {
        lines[head...].last { $0.covers(sequenceNumber) }
    }

    /// Forgets the oldest lines, as far as they are about events before `oldest`. A line is kept as long as one before
    /// it.
    mutating func forget(before oldest: SequenceNumber) {
        while head < lines.count, lines[head].last < oldest { head += 1 }
        guard head > 64, head * 2 > lines.count else { return }
        lines.removeFirst(head)
        head = 0
    }
}

/// The causes of one dispatcher's failed attempts, with their events; the newest ones are kept. Pure.
struct FailureLog {
    private struct Line {
        let events: ClosedRange<SequenceNumber>
        let cause: InternedTexts.Number
    }

    /// The lines; a circular buffer once there are as many as may be kept.
    private var lines: [Line] = []
    private var next = 0

    private static let most = 1_024
    /// The number of newest lines that are searched for the same batch, so that repeated failures of a batch share a
    /// line.
    private static let mostEvaluated = 16

    /// Records a failed attempt with some events.
    mutating func append(_ events: ClosedRange<SequenceNumber>, _ cause: InternedTexts.Number) {
        let line = Line(events: events, cause: cause)
        if let index = index(of: events) {
            lines[index] = line
        } else if lines.count < FailureLog.most {
            lines.append(line)
        } else {
            lines[next] = line
            next = (next + 1) % FailureLog.most
        }
    }

    private func index(of events: ClosedRange<SequenceNumber>) -> Int? {
        newestFirst.prefix(FailureLog.mostEvaluated).first { lines[$0].events == events }
    }

    /// Returns the cause of the last failed attempt of an event, or 0 if none is known.
    func cause(of sequenceNumber: SequenceNumber) -> InternedTexts.Number {
        newestFirst.first { lines[$0].events.contains(sequenceNumber) }.map { lines[$0].cause } ?? 0
    }

    private var newestFirst: some Sequence<Int> {
        (0..<lines.count).lazy.map { (next + 2 * lines.count - 1 - $0) % lines.count }
    }
}
