/// Finds places by hash: open addressing with linear probing, eight bytes a slot and at most half full. A look at an id that is new
/// reads one line of memory, mostly.
///
/// Of a place it holds the low bits: no two that it holds at once may be the same in these.
struct FingerprintIndex {
    /// Where one of the fingerprints lies.
    private struct Slot {
        /// The low bits of a place plus one; 0 is free.
        var place: UInt32 = 0
        /// The low half of its hash, so that a slot's home is known without looking at its place.
        var hash: UInt32 = 0
    }

    private var slots = [Slot](repeating: Slot(), count: 4)
    private var count = 0

    /// The bits of a place that are held.
    static let placeMask: UInt32 = 0x7FFF_FFFF

    private var mask: Int { slots.count - 1 }

    /// - Returns: the low bits of the place.
    func find(_ hash: UInt64, where matches: (UInt32) -> Bool) -> UInt32? {
        let short = UInt32(truncatingIfNeeded: hash)
        var index = Int(short) & mask
        while true {
            let slot = slots[index]
            guard slot.place != 0 else { return nil }
            if slot.hash == short, matches(slot.place - 1) { return slot.place - 1 }
            index = (index + 1) & mask
        }
    }

    mutating func insert(_ hash: UInt64, place: Int) {
        if count * 2 >= slots.count { grow() }
        count += 1
        put(Slot(place: FingerprintIndex.short(place), hash: UInt32(truncatingIfNeeded: hash)))
    }

    private mutating func put(_ slot: Slot) {
        var index = Int(slot.hash) & mask
        while slots[index].place != 0 { index = (index + 1) & mask }
        slots[index] = slot
    }

    /// Each slot goes where it was, or as far behind as there were slots: both are gone through from the beginning to the end.
    private mutating func grow() {
        let old = slots
        slots = Array(repeating: Slot(), count: old.count * 2)
        for slot in old where slot.place != 0 { put(slot) }
    }

    /// Removes one, and moves back those behind it that would no longer be found.
    mutating func remove(_ hash: UInt64, place: Int) {
        let short = FingerprintIndex.short(place)
        var index = Int(UInt32(truncatingIfNeeded: hash)) & mask
        while slots[index].place != short {
            guard slots[index].place != 0 else { return }
            index = (index + 1) & mask
        }
        var next = (index + 1) & mask
        while slots[next].place != 0 {
            let home = Int(slots[next].hash) & mask
            if (next - home) & mask >= (next - index) & mask {
                slots[index] = slots[next]
                index = next
            }
            next = (next + 1) & mask
        }
        slots[index].place = 0
        count -= 1
    }

    private static func short(_ place: Int) -> UInt32 {
        (UInt32(truncatingIfNeeded: place) & placeMask) + 1
    }
}
