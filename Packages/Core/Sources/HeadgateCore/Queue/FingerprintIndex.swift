/// Finds places by hash: open addressing with linear probing, four bytes a slot and at most half full.
struct FingerprintIndex {
    /// A place plus one; 0 is free.
    private var slots: [UInt32]
    /// The low half of each slot's hash, so that a slot's home is known without looking at its place.
    private var hashes: [UInt32]

    /// - Parameter places: the most places that will be held at once.
    init(places: Int = 0) {
        var size = 4
        while size < places * 2 { size *= 2 }
        slots = Array(repeating: 0, count: size)
        hashes = Array(repeating: 0, count: size)
    }

    private var mask: Int { slots.count - 1 }

    func find(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? {
        let short = UInt32(truncatingIfNeeded: hash)
        var slot = Int(short) & mask
        while slots[slot] != 0 {
            let place = Int(slots[slot]) - 1
            if hashes[slot] == short, matches(place) { return place }
            slot = (slot + 1) & mask
        }
        return nil
    }

    mutating func insert(_ hash: UInt64, place: Int) {
        let short = UInt32(truncatingIfNeeded: hash)
        var slot = Int(short) & mask
        while slots[slot] != 0 { slot = (slot + 1) & mask }
        slots[slot] = UInt32(place + 1)
        hashes[slot] = short
    }

    /// Removes one, and moves back those behind it that would no longer be found.
    mutating func remove(_ hash: UInt64, place: Int) {
        var slot = Int(UInt32(truncatingIfNeeded: hash)) & mask
        while slots[slot] != UInt32(place + 1) {
            guard slots[slot] != 0 else { return }
            slot = (slot + 1) & mask
        }
        var next = (slot + 1) & mask
        while slots[next] != 0 {
            let home = Int(hashes[next]) & mask
            if (next - home) & mask >= (next - slot) & mask {
                slots[slot] = slots[next]
                hashes[slot] = hashes[next]
                slot = next
            }
            next = (next + 1) & mask
        }
        slots[slot] = 0
    }
}
