/// What a dispatcher has settled: all up to a position, and ranges behind it. Between these are the gaps: events that are
/// in flight, wait to be sent again, or wait for an older one of their key, while younger ones are done (Behaviour Q2).
///
/// A range may stretch over numbers of events that are not the dispatcher's. There are never more ranges than the
/// dispatcher had events in hand, which is about twice `in_flight` times `dispatch_limit`.
public struct Settled: Sendable, Equatable {
    /// All events up to and including this one are settled.
    public let position: SequenceNumber
    /// What is settled behind the position: ascending, and apart from each other and from the position.
    public let ranges: [ClosedRange<SequenceNumber>]

    /// All up to and including an event, and none behind it.
    public init(through position: SequenceNumber) {
        self.position = position
        ranges = []
    }

    /// - Parameter ranges: in any order; they may touch, overlap, and reach over the position.
    public init(through position: SequenceNumber, and ranges: some Sequence<ClosedRange<SequenceNumber>>) {
        var position = position
        var apart: [ClosedRange<SequenceNumber>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.upperBound > position {
            if range.lowerBound <= position || range.lowerBound == position + 1 {
                position = range.upperBound
            } else if let last = apart.last, range.lowerBound - 1 <= last.upperBound {
                apart[apart.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                apart.append(range)
            }
        }
        self.position = position
        self.ranges = apart
    }

    /// Whether an event is settled.
    public func contains(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber <= position || range(around: sequenceNumber) != nil
    }

    /// The range behind the position that an event lies in.
    func range(around sequenceNumber: SequenceNumber) -> ClosedRange<SequenceNumber>? {
        let index = firstRange(reaching: sequenceNumber)
        guard index < ranges.count, ranges[index].contains(sequenceNumber) else { return nil }
        return ranges[index]
    }

    /// The same but for some events, which are not settled after all.
    /// - Parameter events: ascending.
    func without(_ events: some Collection<SequenceNumber>) -> Settled {
        let wholes = (position > 0 ? [1...position] : []) + ranges
        let pieces = wholes.flatMap { whole -> [ClosedRange<SequenceNumber>] in
            let bounds = [whole.lowerBound - 1] + events.filter(whole.contains) + [whole.upperBound + 1]
            return zip(bounds, bounds.dropFirst()).compactMap { $0 + 1 < $1 ? $0 + 1...$1 - 1 : nil }
        }
        return Settled(through: 0, and: pieces)
    }

    /// The same as far as an event.
    func through(_ end: SequenceNumber) -> Settled {
        let within = ranges.filter { $0.lowerBound <= end }.map { $0.lowerBound...min($0.upperBound, end) }
        return Settled(through: min(position, end), and: within)
    }

    /// How much of a stretch of events lies in ranges behind the position.
    public func overlap(with stretch: ClosedRange<SequenceNumber>) -> Overlap {
        let index = firstRange(reaching: stretch.lowerBound)
        guard index < ranges.count, ranges[index].lowerBound <= stretch.upperBound else { return .none }
        let range = ranges[index]
        return range.lowerBound <= stretch.lowerBound && stretch.upperBound <= range.upperBound ? .whole : .part
    }

    /// How much of something is covered.
    public enum Overlap: Sendable {
        case none
        case part
        case whole
    }

    /// The place of the first range that does not end before an event.
    private func firstRange(reaching sequenceNumber: SequenceNumber) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < sequenceNumber { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// Events of one dispatcher, by their sequence numbers. Nearly all of them follow one another, so they are kept as ranges.
struct SequenceSet: Equatable {
    /// Ascending, and apart from each other.
    private var ranges: [ClosedRange<SequenceNumber>] = []
    private(set) var count = 0

    /// The events as stretches of those that follow one another.
    var stretches: [ClosedRange<SequenceNumber>] { ranges }

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
