/// Events of one dispatcher, by their sequence numbers. Nearly all of them follow one another, so they are kept as ranges.
struct SequenceSet: Equatable {
    /// Ascending, and apart from each other.
    private var ranges: [ClosedRange<SequenceNumber>] = []
    private(set) var count = 0

    init() {}

    /// - Parameter sequenceNumbers: ascending, as events lie in a queue and in a batch.
    init(_ sequenceNumbers: some Sequence<SequenceNumber>) {
        for sequenceNumber in sequenceNumbers { append(sequenceNumber) }
    }

    var isEmpty: Bool { count == 0 }

    /// Takes in an event behind all that are in.
    mutating func append(_ sequenceNumber: SequenceNumber) {
        count += 1
        guard let last = ranges.last else { return ranges.append(sequenceNumber...sequenceNumber) }
        assert(sequenceNumber > last.upperBound, "out of order")
        if sequenceNumber == last.upperBound + 1 {
            ranges[ranges.count - 1] = last.lowerBound...sequenceNumber
        } else {
            ranges.append(sequenceNumber...sequenceNumber)
        }
    }

    func contains(_ sequenceNumber: SequenceNumber) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < sequenceNumber { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= sequenceNumber
    }
}

extension SequenceSet: Sequence {
    /// Goes over the events, ascending.
    func makeIterator() -> some IteratorProtocol<SequenceNumber> {
        ranges.lazy.joined().makeIterator()
    }
}
