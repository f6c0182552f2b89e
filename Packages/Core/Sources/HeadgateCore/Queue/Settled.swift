import HeadgateData

/// The settled events of a dispatcher: all up to a position, and ranges after it. Events in the gaps are in flight, are
/// to be sent again, or wait for an older one of their key while later events are settled (Behaviour Q2).
///
/// A range may include sequence numbers of other dispatchers' events. There are at most as many ranges as the
/// dispatcher had buffered events, about twice `in_flight` times `dispatch_limit`.
public struct Settled: Sendable, Equatable {
    /// All events up to this sequence number are settled.
    public let position: SequenceNumber
    /// The settled ranges after the position: ascending, and not adjacent to each other or to the position.
    public let ranges: [ClosedRange<SequenceNumber>]

    /// Creates a value in which all events up to `position` are settled, and no others.
    public init(through position: SequenceNumber) {
        self.position = position
        ranges = []
    }

    /// Creates a value from ranges in any order.
    /// - Parameters:
    ///   - position: all events up to this one are settled.
    ///   - ranges: may touch, overlap, and extend below the position.
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

    /// Returns true if an event is settled.
    public func contains(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber <= position || range(around: sequenceNumber) != nil
    }

    /// Returns the range after the position that contains an event, or nil if there is none.
    func range(around sequenceNumber: SequenceNumber) -> ClosedRange<SequenceNumber>? {
        let index = firstRange(reaching: sequenceNumber)
        guard index < ranges.count, ranges[index].contains(sequenceNumber) else { return nil }
        return ranges[index]
    }

    /// Returns the same settlements without some events.
    /// - Parameter events: the events that are not settled, ascending.
    func without(_ events: some Collection<SequenceNumber>) -> Settled {
        let wholes = (position > 0 ? [1...position] : []) + ranges
        let pieces = wholes.flatMap { whole -> [ClosedRange<SequenceNumber>] in
            let bounds = [whole.lowerBound - 1] + events.filter(whole.contains) + [whole.upperBound + 1]
            return zip(bounds, bounds.dropFirst()).compactMap { $0 + 1 < $1 ? $0 + 1...$1 - 1 : nil }
        }
        return Settled(through: 0, and: pieces)
    }

    /// Returns the same settlements up to an event.
    public func through(_ end: SequenceNumber) -> Settled {
        let within = ranges.filter { $0.lowerBound <= end }.map { $0.lowerBound...min($0.upperBound, end) }
        return Settled(through: min(position, end), and: within)
    }

    /// Returns how much of a range of events lies in ranges after the position.
    public func overlap(with other: ClosedRange<SequenceNumber>) -> Overlap {
        let index = firstRange(reaching: other.lowerBound)
        guard index < ranges.count, ranges[index].lowerBound <= other.upperBound else { return .none }
        let range = ranges[index]
        return range.lowerBound <= other.lowerBound && other.upperBound <= range.upperBound ? .whole : .part
    }

    /// The extent of an overlap.
    public enum Overlap: Sendable {
        case none
        case part
        case whole
    }

    /// Returns the index of the first range that does not end before an event.
    private func firstRange(reaching sequenceNumber: SequenceNumber) -> Int {
        BinarySearch.first(in: 0..<ranges.count) { ranges[$0].upperBound >= sequenceNumber }
    }
}

/// A set of events of one dispatcher, by sequence number. Events are mostly consecutive, so the set is kept as ranges.
struct SequenceSet: Equatable {
    /// The members as ranges: ascending, and not adjacent to each other.
    private(set) var ranges: [ClosedRange<SequenceNumber>] = []
    private(set) var count = 0

    init() {}

    /// - Parameter sequenceNumbers: in ascending order.
    init(_ sequenceNumbers: some Sequence<SequenceNumber>) {
        for sequenceNumber in sequenceNumbers { append(sequenceNumber) }
    }

    var isEmpty: Bool { count == 0 }

    /// Adds an event that is greater than all events of the set.
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
        let index = BinarySearch.first(in: 0..<ranges.count) { ranges[$0].upperBound >= sequenceNumber }
        return index < ranges.count && ranges[index].lowerBound <= sequenceNumber
    }
}

extension SequenceSet: Sequence {
    /// Iterates over the events in ascending order.
    func makeIterator() -> some IteratorProtocol<SequenceNumber> {
        ranges.lazy.joined().makeIterator()
    }
}
