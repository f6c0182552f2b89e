/// A set of small numbers, in which the next one from any place is found in as many steps as there are levels: a word has
/// 64 bits, so four levels hold 16 million.
struct PlaceSet {
    /// A bit for each place.
    private var words: [UInt64] = []
    /// A bit of the first says whether a word of ``words`` has any, one of the next the same of a word below, up to a level of one
    /// word. Touched only where a word gets its first, or loses its last.
    private var levels: [[UInt64]] = []

    func contains(_ place: Int) -> Bool {
        let word = place >> 6
        return word < words.count && words[word] & PlaceSet.bit(place) != 0
    }

    /// The first place in the set that is not before this one.
    func next(from place: Int) -> Int? {
        let word = place >> 6
        guard word < words.count else { return nil }
        let rest = words[word] & PlaceSet.bits(from: place)
        if rest != 0 { return word << 6 | rest.trailingZeroBitCount }
        return nextWord(from: word + 1).map { $0 << 6 | words[$0].trailingZeroBitCount }
    }

    private func nextWord(from word: Int) -> Int? {
        var place = word
        for level in levels.indices {
            let word = place >> 6
            guard word < levels[level].count else { return nil }
            let rest = levels[level][word] & PlaceSet.bits(from: place)
            if rest != 0 { return lowest(under: word << 6 | rest.trailingZeroBitCount, level) }
            place = word + 1
        }
        return nil
    }

    mutating func insert(_ place: Int) {
        let word = place >> 6
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
        let before = words[word]
        words[word] = before | PlaceSet.bit(place)
        if before == 0 { note(word) }
    }

    /// A word has got its first bit.
    private mutating func note(_ word: Int) {
        var place = word
        for level in levels.indices {
            let word = place >> 6
            if word >= levels[level].count {
                levels[level].append(contentsOf: repeatElement(0, count: word + 1 - levels[level].count))
            }
            let before = levels[level][word]
            levels[level][word] = before | PlaceSet.bit(place)
            // With others beside it the bits above stand already.
            guard before == 0 else { return }
            place = word
        }
        while (levels.last ?? words).count > 1 { addLevel() }
    }

    mutating func remove(_ place: Int) {
        let word = place >> 6
        guard word < words.count, words[word] != 0 else { return }
        words[word] &= ~PlaceSet.bit(place)
        if words[word] == 0 { erase(word) }
    }

    /// A word has lost its last bit.
    private mutating func erase(_ word: Int) {
        var place = word
        for level in levels.indices {
            let word = place >> 6
            levels[level][word] &= ~PlaceSet.bit(place)
            // Others are left below, so the bits above stand.
            guard levels[level][word] == 0 else { return }
            place = word
        }
    }

    /// Empties it, and keeps the memory.
    mutating func removeAll() {
        for word in words.indices { words[word] = 0 }
        for level in levels.indices {
            for word in levels[level].indices { levels[level][word] = 0 }
        }
    }

    private mutating func addLevel() {
        let below = levels.last ?? words
        var words = [UInt64](repeating: 0, count: (below.count + 63) >> 6)
        for (index, word) in below.enumerated() where word != 0 { words[index >> 6] |= PlaceSet.bit(index) }
        levels.append(words)
    }

    private func lowest(under bit: Int, _ level: Int) -> Int {
        levels[..<level].reversed().reduce(bit) { $0 << 6 | $1[$0].trailingZeroBitCount }
    }

    private static func bit(_ place: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: place) }

    /// Those of its word from a place on.
    private static func bits(from place: Int) -> UInt64 { .max &<< UInt64(truncatingIfNeeded: place) }
}

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

    /// True if an event of the key stands aside.
    func isAside(_ key: EventKey) -> Bool { aside[key] != nil }

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

/// When what lies at each place ends, with the earliest of all at the top: a tournament. A change costs as many steps as the
/// tree is high.
struct EndTree {
    /// The root is at 1; the leaves are the last half.
    private var nodes: [Int64] = []

    private var leaves: Int { nodes.count / 2 }

    /// The earliest end; nil while there is none.
    var earliest: Int64? {
        nodes.isEmpty || nodes[1] == EndTree.never ? nil : nodes[1]
    }

    /// A place whose end has come; of several the first.
    func firstDue(at stamp: Int64) -> Int? {
        guard let earliest, earliest <= stamp else { return nil }
        var node = 1
        while node < leaves { node = nodes[2 * node] <= stamp ? 2 * node : 2 * node + 1 }
        return node - leaves
    }

    /// Notes when what lies at a place ends; nil: never, or it lies there no more.
    mutating func set(_ place: Int, to end: Int64?) {
        if place >= leaves {
            guard end != nil else { return }
            grow(to: place)
        }
        var node = leaves + place
        guard nodes[node] != end ?? EndTree.never else { return }
        nodes[node] = end ?? EndTree.never
        while node > 1 {
            node /= 2
            let least = min(nodes[2 * node], nodes[2 * node + 1])
            guard nodes[node] != least else { return }
            nodes[node] = least
        }
    }

    private mutating func grow(to place: Int) {
        var count = max(32, 2 * leaves)
        while count <= place { count *= 2 }
        let old = leaves == 0 ? [] : Array(nodes[leaves...])
        nodes = [Int64](repeating: EndTree.never, count: 2 * count)
        nodes.replaceSubrange(count..<count + old.count, with: old)
        for node in stride(from: count - 1, through: 1, by: -1) {
            nodes[node] = min(nodes[2 * node], nodes[2 * node + 1])
        }
    }

    private static let never = Int64.max
}
