/// A search of indices by hash: a hash table with open addressing and linear probing, 8 bytes per slot and at most half
/// full. Looking up a new id mostly reads a single cache line.
///
/// The table keeps only the low bits of an index. Two indices in the table must not have the same low bits.
struct FingerprintIndex {
    /// The entry of one fingerprint.
    private struct Slot {
        /// The low bits of the index plus one; 0 marks a free slot.
        var position: UInt32 = 0
        /// The low half of the hash, so that a slot's home position is known without reading the entry.
        var hash: UInt32 = 0
    }

    private var slots = [Slot](repeating: Slot(), count: 4)
    private var count = 0

    /// The bits of an index that the table keeps.
    static let positionMask: UInt32 = 0x7FFF_FFFF

    private var mask: Int { slots.count - 1 }

    /// Returns the low bits of the first matching index, or nil if there is none.
    func find(_ hash: UInt64, where matches: (UInt32) -> Bool) -> UInt32? {
        let short = UInt32(truncatingIfNeeded: hash)
        var index = Int(short) & mask
        while true {
            let slot = slots[index]
            guard slot.position != 0 else { return nil }
            if slot.hash == short, matches(slot.position - 1) { return slot.position - 1 }
            index = (index + 1) & mask
        }
    }

    mutating func insert(_ hash: UInt64, position: Int) {
        if count * 2 >= slots.count { grow() }
        count += 1
        put(Slot(position: FingerprintIndex.short(position), hash: UInt32(truncatingIfNeeded: hash)))
    }

    private mutating func put(_ slot: Slot) {
        var index = Int(slot.hash) & mask
        while slots[index].position != 0 { index = (index + 1) & mask }
        slots[index] = slot
    }

    /// Doubles the table. Both tables are traversed from the beginning to the end, because an entry stays at its slot
    /// or moves up by the old number of slots.
    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(), count: old.count * 2)
        for slot in old where slot.position != 0 { put(slot) }
    }

    /// Removes an entry, and moves later entries back that would otherwise not be found.
    mutating func remove(_ hash: UInt64, position: Int) {
        let short = FingerprintIndex.short(position)
        var index = Int(UInt32(truncatingIfNeeded: hash)) & mask
        while slots[index].position != short {
            guard slots[index].position != 0 else { return }
            index = (index + 1) & mask
        }
        var next = (index + 1) & mask
        while slots[next].position != 0 {
            let home = Int(slots[next].hash) & mask
            if (next - home) & mask >= (next - index) & mask {
                slots[index] = slots[next]
                index = next
            }
            next = (next + 1) & mask
        }
        slots[index].position = 0
        count -= 1
    }

    private static func short(_ position: Int) -> UInt32 {
        (UInt32(truncatingIfNeeded: position) & positionMask) + 1
    }
}
