/// A set of small integers that finds the next member after any integer in as many steps as it has levels. A word has
/// 64 bits, so four levels hold 16 million integers.
struct IntegerSet {
    /// One bit per integer.
    private var words: [UInt64] = []
    /// The summary bits. A bit of the first level is set if a word of ``words`` is not zero. A bit of each next level
    /// is set if a word of the level below is not zero. The last level is a single word. The levels change only when a
    /// word gets its first bit or loses its last.
    private var levels: [[UInt64]] = []

    func contains(_ member: Int) -> Bool {
        let word = member >> 6
        return word < words.count && words[word] & IntegerSet.bit(member) != 0
    }

    /// Returns the first member that is not less than `member`, or nil if there is none.
    func next(from member: Int) -> Int? {
        let word = member >> 6
        guard word < words.count else { return nil }
        let rest = words[word] & IntegerSet.bits(from: member)
        if rest != 0 { return word << 6 | rest.trailingZeroBitCount }
        return nextWord(from: word + 1).map { $0 << 6 | words[$0].trailingZeroBitCount }
    }

    private func nextWord(from word: Int) -> Int? {
        var member = word
        for level in levels.indices {
            let word = member >> 6
            guard word < levels[level].count else { return nil }
            let rest = levels[level][word] & IntegerSet.bits(from: member)
            if rest != 0 { return lowest(under: word << 6 | rest.trailingZeroBitCount, level) }
            member = word + 1
        }
        return nil
    }

    mutating func insert(_ member: Int) {
        let word = member >> 6
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word + 1 - words.count)) }
        let before = words[word]
        words[word] = before | IntegerSet.bit(member)
        if before == 0 { note(word) }
    }

    /// Sets the summary bits for a word that has got its first bit.
    private mutating func note(_ word: Int) {
        var member = word
        for level in levels.indices {
            let word = member >> 6
            if word >= levels[level].count {
                levels[level].append(contentsOf: repeatElement(0, count: word + 1 - levels[level].count))
            }
            let before = levels[level][word]
            levels[level][word] = before | IntegerSet.bit(member)
            // The word was not zero before, so the bits above are set already.
            guard before == 0 else { return }
            member = word
        }
        while (levels.last ?? words).count > 1 { addLevel() }
    }

    mutating func remove(_ member: Int) {
        let word = member >> 6
        guard word < words.count, words[word] != 0 else { return }
        words[word] &= ~IntegerSet.bit(member)
        if words[word] == 0 { erase(word) }
    }

    /// Clears the summary bits for a word that has lost its last bit.
    private mutating func erase(_ word: Int) {
        var member = word
        for level in levels.indices {
            let word = member >> 6
            levels[level][word] &= ~IntegerSet.bit(member)
            // The word is still not zero, so the bits above stay set.
            guard levels[level][word] == 0 else { return }
            member = word
        }
    }

    /// Removes all members and keeps the memory.
    mutating func removeAll() {
        for word in words.indices { words[word] = 0 }
        for level in levels.indices {
            for word in levels[level].indices { levels[level][word] = 0 }
        }
    }

    private mutating func addLevel() {
        let below = levels.last ?? words
        var words = [UInt64](repeating: 0, count: (below.count + 63) >> 6)
        for (index, word) in below.enumerated() where word != 0 { words[index >> 6] |= IntegerSet.bit(index) }
        levels.append(words)
    }

    private func lowest(under bit: Int, _ level: Int) -> Int {
        levels[..<level].reversed().reduce(bit) { $0 << 6 | $1[$0].trailingZeroBitCount }
    }

    private static func bit(_ member: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: member) }

    /// Returns a mask of the bits of a word from an integer's bit on.
    private static func bits(from member: Int) -> UInt64 { .max &<< UInt64(truncatingIfNeeded: member) }
}

/// The order of events with the same key: the keys that have events in flight, and the events put aside behind them
/// (Behaviour Q2). Pure.
///
/// An event whose key is busy is put aside once. When the key becomes free, the first event that is put aside may be
/// sent, and the next one when that is in a batch. The cost of a batch therefore does not depend on the number of
/// events with one key.
struct KeyOrder {
    private var busy: [EventKey: Int] = [:]
    private var aside: [EventKey: Line] = [:]

    /// The events that are put aside for one key.
    private struct Line {
        /// The sequence numbers, ascending. Those before `first` were removed.
        private var numbers: [SequenceNumber] = []
        private var first = 0

        var isEmpty: Bool { first == numbers.count }

        mutating func insert(_ number: SequenceNumber) {
            if numbers.last ?? 0 < number { return numbers.append(number) }
            let member = numbers[first...].firstIndex { $0 > number } ?? numbers.count
            // The common case: the event that was removed last, and was not sent, comes back.
            guard member == first, first > 0 else { return numbers.insert(number, at: member) }
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

    /// Returns true if an event of the key is put aside.
    func isAside(_ key: EventKey) -> Bool { aside[key] != nil }

    /// True if no event is put aside.
    var isClear: Bool { aside.isEmpty }

    /// Records that an event of the key is in flight.
    mutating func took(_ key: EventKey) {
        busy[key, default: 0] += 1
    }

    /// Records that an event of the key is no longer in flight.
    mutating func released(_ key: EventKey) {
        guard let count = busy[key] else { return }
        busy[key] = count > 1 ? count - 1 : nil
    }

    /// Puts an event aside that has to wait for an older one of its key.
    mutating func stepAside(_ sequenceNumber: SequenceNumber, _ key: EventKey) {
        aside[key, default: Line()].insert(sequenceNumber)
    }

    /// Removes and returns the first event that is put aside for a key, or nil if there is none.
    mutating func comeForward(_ key: EventKey) -> SequenceNumber? {
        guard let next = aside[key]?.removeFirst() else { return nil }
        if aside[key]?.isEmpty == true { aside[key] = nil }
        return next
    }
}

/// A tournament tree of end times, one per index, with the earliest at the root. A change takes as many steps as the
/// tree is high.
struct DeadlineTree {
    /// The nodes of the tree. The root is at index 1, and the second half are the leaves.
    private var nodes: [Int64] = []

    private var leaves: Int { nodes.count / 2 }

    /// The earliest end; nil if there is none.
    var earliest: Int64? {
        nodes.isEmpty || nodes[1] == DeadlineTree.never ? nil : nodes[1]
    }

    /// Returns the first index whose end has been reached, or nil if there is none.
    func firstDue(at stamp: Int64) -> Int? {
        guard let earliest, earliest <= stamp else { return nil }
        var node = 1
        while node < leaves { node = nodes[2 * node] <= stamp ? 2 * node : 2 * node + 1 }
        return node - leaves
    }

    /// Sets the end at an index; nil for no end.
    mutating func set(_ member: Int, to end: Int64?) {
        if member >= leaves {
            guard end != nil else { return }
            grow(to: member)
        }
        var node = leaves + member
        guard nodes[node] != end ?? DeadlineTree.never else { return }
        nodes[node] = end ?? DeadlineTree.never
        while node > 1 {
            node /= 2
            let least = min(nodes[2 * node], nodes[2 * node + 1])
            guard nodes[node] != least else { return }
            nodes[node] = least
        }
    }

    private mutating func grow(to member: Int) {
        var count = max(32, 2 * leaves)
        while count <= member { count *= 2 }
        let old = leaves == 0 ? [] : Array(nodes[leaves...])
        nodes = [Int64](repeating: DeadlineTree.never, count: 2 * count)
        nodes.replaceSubrange(count..<count + old.count, with: old)
        for node in stride(from: count - 1, through: 1, by: -1) {
            nodes[node] = min(nodes[2 * node], nodes[2 * node + 1])
        }
    }

    private static let never = Int64.max
}
