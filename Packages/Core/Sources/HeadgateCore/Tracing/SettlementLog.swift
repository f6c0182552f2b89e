import HeadgateData

/// What became of the events that one dispatcher has settled, the newest ones: a line for each stretch of events that ended
/// together, in the order in which they did. Pure.
///
/// A batch is one line, so to write it down costs nearly nothing; whoever asks goes over the lines.
struct SettlementLog {
    /// Events that follow one another and ended alike.
    struct Line: Equatable {
        let first: SequenceNumber
        var count: UInt32
        /// How often each was sent.
        let sends: UInt32
        /// What the last attempt before failed of; 0: none did.
        let cause: TraceWords.Number
        let end: DeliveryEnd
        /// Milliseconds of the wall clock.
        let at: Int64

        var last: SequenceNumber { first + SequenceNumber(count) - 1 }

        /// Takes in a line about what follows at once and ended alike.
        /// - Returns: false where it is not.
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
    /// Those before it are dropped.
    private var head = 0

    /// How many lines there are.
    var count: Int { lines.count - head }

    /// Some events have ended. Those that follow the ones before, and ended alike, are put to these.
    mutating func append(_ line: Line) {
        guard lines.count > head, lines[lines.count - 1].join(line) else { return lines.append(line) }
    }

    /// What became of an event, the last time that it ended.
    func line(of sequenceNumber: SequenceNumber) -> Line? {
        lines[head...].last { $0.covers(sequenceNumber) }
    }

    /// Lets go of what is about events before this one. Lines that came behind one that stays wait for it.
    mutating func forget(before oldest: SequenceNumber) {
        while head < lines.count, lines[head].last < oldest { head += 1 }
        guard head > 64, head * 2 > lines.count else { return }
        lines.removeFirst(head)
        head = 0
    }
}

/// What the attempts of one dispatcher failed of, by the events that they were for: the newest ones. Pure.
struct FailureLog {
    private struct Line {
        let events: ClosedRange<SequenceNumber>
        let cause: TraceWords.Number
    }

    /// Circular, once it is full.
    private var lines: [Line] = []
    private var next = 0

    private static let most = 1_024
    /// A batch that fails again and again has one line: it is looked for among so many.
    private static let mostLookedAt = 16

    /// An attempt with some of a dispatcher's events has failed.
    mutating func append(_ events: ClosedRange<SequenceNumber>, _ cause: TraceWords.Number) {
        let line = Line(events: events, cause: cause)
        if let place = place(of: events) {
            lines[place] = line
        } else if lines.count < FailureLog.most {
            lines.append(line)
        } else {
            lines[next] = line
            next = (next + 1) % FailureLog.most
        }
    }

    private func place(of events: ClosedRange<SequenceNumber>) -> Int? {
        newestFirst.prefix(FailureLog.mostLookedAt).first { lines[$0].events == events }
    }

    /// What the last attempt of an event failed of; 0 when none is known.
    func cause(of sequenceNumber: SequenceNumber) -> TraceWords.Number {
        newestFirst.first { lines[$0].events.contains(sequenceNumber) }.map { lines[$0].cause } ?? 0
    }

    private var newestFirst: some Sequence<Int> {
        (0..<lines.count).lazy.map { (next + 2 * lines.count - 1 - $0) % lines.count }
    }
}
