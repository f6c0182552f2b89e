/// A set of small numbers, in which the next one from any place is found in as many steps as there are levels: a word has
/// 64 bits, so four levels hold 16 million.
struct PlaceSet {
    /// The first level has a bit for each place. A bit above says whether a word below has any.
    private var levels: [[UInt64]] = [[]]

    func contains(_ place: Int) -> Bool {
        let word = place >> 6
        return word < levels[0].count && levels[0][word] & PlaceSet.bit(place) != 0
    }

    /// The first place in the set that is not before this one.
    func next(from place: Int) -> Int? {
        var place = place
        for level in levels.indices {
            let word = place >> 6
            guard word < levels[level].count else { return nil }
            let rest = levels[level][word] & (.max << UInt64(place & 63))
            if rest != 0 { return lowest(under: word << 6 | rest.trailingZeroBitCount, level) }
            place = word + 1
        }
        return nil
    }

    mutating func insert(_ place: Int) {
        var place = place
        var level = 0
        while true {
            let word = place >> 6
            if word >= levels[level].count {
                levels[level].append(contentsOf: repeatElement(0, count: word + 1 - levels[level].count))
            }
            levels[level][word] |= PlaceSet.bit(place)
            place = word
            level += 1
            if level == levels.count {
                guard levels[level - 1].count > 1 else { return }
                addLevel()
            }
        }
    }

    mutating func remove(_ place: Int) {
        var place = place
        for level in levels.indices {
            let word = place >> 6
            guard word < levels[level].count else { return }
            levels[level][word] &= ~PlaceSet.bit(place)
            // Others are left below, so the bits above stand.
            guard levels[level][word] == 0 else { return }
            place = word
        }
    }

    /// Empties it, and keeps the memory.
    mutating func removeAll() {
        for level in levels.indices {
            for word in levels[level].indices { levels[level][word] = 0 }
        }
    }

    private mutating func addLevel() {
        let below = levels[levels.count - 1]
        var words = [UInt64](repeating: 0, count: (below.count + 63) >> 6)
        for (index, word) in below.enumerated() where word != 0 { words[index >> 6] |= PlaceSet.bit(index) }
        levels.append(words)
    }

    private func lowest(under bit: Int, _ level: Int) -> Int {
        levels[..<level].reversed().reduce(bit) { $0 << 6 | $1[$0].trailingZeroBitCount }
    }

    private static func bit(_ place: Int) -> UInt64 { 1 << UInt64(place & 63) }
}
