/// Which keys have events on their way, and which events wait behind these (Behaviour Q2). Pure.
///
/// An event that is met while its key is busy steps aside, once. When the key is free, the first of its key comes forward,
/// and the next one when that is taken: so a key with thousands of events costs a batch no more than what it takes of them.
struct KeyOrder {
    private var busy: [EventKey: Int] = [:]
    private var aside: [EventKey: Line] = [:]

    /// Those who stand aside for one key.
    private struct Line {
        /// Ascending; those before `first` have come forward.
        private var numbers: [SequenceNumber] = []
        private var first = 0

        var isEmpty: Bool { first == numbers.count }

        mutating func insert(_ number: SequenceNumber) {
            if numbers.last ?? 0 < number { return numbers.append(number) }
            let place = numbers[first...].firstIndex { $0 > number } ?? numbers.count
            // Mostly it is the one that came forward last and was not taken.
            guard place == first, first > 0 else { return numbers.insert(number, at: place) }
            first -= 1
            numbers[first] = number
        }

        mutating func removeFirst() -> SequenceNumber? {
            guard !isEmpty else { return nil }
            first += 1
            let number = numbers[first - 1]
            if first > 64, first > numbers.count / 2 {
                numbers.removeFirst(first)
                first = 0
            }
            return number
        }
    }

    func isBusy(_ key: EventKey) -> Bool { busy[key] != nil }

    /// Whether nobody stands aside.
    var isClear: Bool { aside.isEmpty }

    /// An event of the key is on its way.
    mutating func took(_ key: EventKey) {
        busy[key, default: 0] += 1
    }

    /// An event of the key is on its way no more.
    mutating func released(_ key: EventKey) {
        guard let count = busy[key] else { return }
        busy[key] = count > 1 ? count - 1 : nil
    }

    /// An event has to wait for an older one of its key.
    mutating func stepAside(_ sequenceNumber: SequenceNumber, _ key: EventKey) {
        aside[key, default: Line()].insert(sequenceNumber)
    }

    /// The first that stands aside for a key comes forward.
    mutating func comeForward(_ key: EventKey) -> SequenceNumber? {
        guard let next = aside[key]?.removeFirst() else { return nil }
        if aside[key]?.isEmpty == true { aside[key] = nil }
        return next
    }
}
