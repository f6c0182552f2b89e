import HeadgateData

/// The batches of a dispatcher that are in flight, by number. Pure.
struct BatchesInFlight {
    /// A batch in flight.
    struct Flight {
        let batch: Batch
        /// The opening of the ActivationGate under which the batch was sent; nil if there is no gate.
        let opening: Int?
    }

    private var all: [Int: Flight] = [:]
    private var lastNumber = 0
    /// The prefix of the batches' deduplication keys.
    private var origin: String

    init(origin: String = "") {
        self.origin = origin
    }

    var count: Int { all.count }

    /// Gives later batches other deduplication keys, after a rewind (Behaviour K8).
    mutating func setOrigin(_ origin: String) { self.origin = origin }

    /// The size of all batches in flight, as they are sent.
    var bytes: Int { all.values.reduce(0) { $0 + $1.batch.body.count } }

    subscript(number: Int) -> Flight? { all[number] }

    /// Returns the batch in flight that contains an event, or nil if the event is not in flight.
    func batch(with sequenceNumber: SequenceNumber) -> Batch? {
        all.values.lazy.map(\.batch).first { $0.events.contains { $0.sequenceNumber == sequenceNumber } }
    }

    /// Returns true if a batch in flight meets a condition.
    func contains(where condition: (Batch) -> Bool) -> Bool { all.values.contains { condition($0.batch) } }

    /// Returns a range without the events in flight. With several batches in flight, some of their events may come
    /// after a pending event.
    func notInFlight(of range: ClosedRange<SequenceNumber>) -> [ClosedRange<SequenceNumber>] {
        let behind = all.values.lazy.map(\.batch.events).filter { events in
            events.last.map { $0.sequenceNumber >= range.lowerBound } ?? false
        }
        let away = behind.joined().map(\.sequenceNumber).filter(range.contains)
        var (left, start): ([ClosedRange<SequenceNumber>], SequenceNumber) = ([], range.lowerBound)
        for number in away.sorted() {
            if start < number { left.append(start...number - 1) }
            start = number + 1
        }
        return start <= range.upperBound ? left + [start...range.upperBound] : left
    }

    /// Adds a batch with the next number, and returns it.
    mutating func begin(_ builder: inout BatchBuilder, under opening: BoardOpening?, at now: Instant) -> Batch {
        lastNumber += 1
        var batch = builder.end(number: lastNumber)
        batch.output = opening?.output ?? [:]
        batch.sentAt = now
        batch.origin = origin
        all[lastNumber] = Flight(batch: batch, opening: opening?.generation)
        return batch
    }

    /// Removes and returns a batch, or nil if it is not in flight.
    mutating func end(_ number: Int) -> Flight? {
        all.removeValue(forKey: number)
    }
}
