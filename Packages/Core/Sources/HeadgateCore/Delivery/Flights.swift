import HeadgateData

/// The batches of a dispatcher that are on their way, by their numbers. Pure.
struct Flights {
    /// A batch on its way.
    struct Flight {
        let batch: Batch
        /// Under which opening of the ActivationGate it was sent; nil where none stood there.
        let opening: Int?
    }

    private var all: [Int: Flight] = [:]
    private var lastNumber = 0
    /// The beginning of the batches' deduplication keys.
    private let origin: String

    init(origin: String = "") {
        self.origin = origin
    }

    var count: Int { all.count }

    /// What all of them take, as they are sent.
    var bytes: Int { all.values.reduce(0) { $0 + $1.batch.body.count } }

    subscript(number: Int) -> Flight? { all[number] }

    /// The batch that an event is on its way in.
    func batch(with sequenceNumber: SequenceNumber) -> Batch? {
        all.values.lazy.map(\.batch).first { $0.events.contains { $0.sequenceNumber == sequenceNumber } }
    }

    /// What is left of a stretch without the events that are on their way: with several batches, some may be behind one that waits.
    func notAway(of stretch: ClosedRange<SequenceNumber>) -> [ClosedRange<SequenceNumber>] {
        let behind = all.values.lazy.map(\.batch.events).filter { events in
            events.last.map { $0.sequenceNumber >= stretch.lowerBound } ?? false
        }
        let away = behind.joined().map(\.sequenceNumber).filter(stretch.contains)
        var (left, start): ([ClosedRange<SequenceNumber>], SequenceNumber) = ([], stretch.lowerBound)
        for number in away.sorted() {
            if start < number { left.append(start...number - 1) }
            start = number + 1
        }
        return start <= stretch.upperBound ? left + [start...stretch.upperBound] : left
    }

    /// Sends off a batch, which gets its number.
    mutating func begin(_ builder: inout BatchBuilder, under opening: BoardOpening?, at now: Instant) -> Batch {
        lastNumber += 1
        var batch = builder.end(number: lastNumber)
        batch.output = opening?.output ?? [:]
        batch.sentAt = now
        batch.origin = origin
        all[lastNumber] = Flight(batch: batch, opening: opening?.generation)
        return batch
    }

    /// A batch has come to its end; nil when it is not on its way.
    mutating func end(_ number: Int) -> Flight? {
        all.removeValue(forKey: number)
    }
}

/// An opening of an ActivationGate: what was sent under an earlier one proves nothing about this one (Behaviour A9).
struct BoardOpening {
    var generation: Int
    /// What the board put out. Secrets (Behaviour X4).
    var output: DataObject
}
