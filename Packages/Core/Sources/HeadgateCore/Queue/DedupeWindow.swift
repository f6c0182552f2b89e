/// Remembers which ids clients gave to their events, so that an event that is sent again is stored once (Behaviour Q7).
///
/// It ends with an age and with a number of ids, whichever is shorter, and it ends exactly there: what is beyond is not
/// found, though it may still lie in the ring for a while. An id takes 32 bytes, and 16 to 32 of the index: it is known by 128
/// bits of a keyed hash (``DedupeKey``).
struct DedupeWindow {
    /// What is known of a namespace and an id.
    struct Fingerprint: Equatable {
        var first: UInt64
        var second: UInt64
    }

    private struct Entry {
        var fingerprint: Fingerprint
        var sequenceNumber: SequenceNumber
        var stamp: Int64
    }

    /// The entries in the order of their sequence numbers and of their stamps, `head` being the oldest's place.
    private var ring: [Entry] = []
    private var head = 0
    private var count = 0
    private var index = FingerprintIndex()
    /// The most ids remembered.
    private(set) var capacity: Int
    /// How long an id is remembered, in milliseconds of the age scale.
    var length: Int64
    /// The ids of events up to and including this one are forgotten.
    private(set) var forgottenThrough: SequenceNumber = 0
    /// How many ids were let go of because of their age or number.
    private(set) var forgotten = 0

    /// Ids let go of with each new one: more than come in, so that none is held long beyond its time, and few enough for
    /// nobody to wait.
    private static let step = 64

    init(capacity: Int, length: Int64) {
        self.capacity = capacity
        self.length = length
    }

    /// The event that an id was given to, as the window is at a moment.
    func find(_ fingerprint: Fingerprint, at now: Int64) -> SequenceNumber? {
        let end = self.end(at: now)
        return index.find(fingerprint.first) { ring[$0].fingerprint == fingerprint && ring[$0].stamp > end }
            .map { ring[$0].sequenceNumber }
    }

    /// How many ids are remembered at a moment, and when the oldest of them was received.
    func remembered(at now: Int64) -> (ids: Int, since: Int64?) {
        let old = beyond(end(at: now))
        return (count - old, old < count ? entry(old).stamp : nil)
    }

    /// Remembers an id. Sequence numbers must grow, and stamps must not shrink; one that does counts as the one before.
    mutating func insert(_ fingerprint: Fingerprint, sequenceNumber: SequenceNumber, stamp: Int64) {
        forget(at: stamp, most: DedupeWindow.step)
        guard capacity > 0 else {
            forgotten += 1
            forgottenThrough = sequenceNumber
            return
        }
        if count == capacity { dropOldest() }
        if count == ring.count { resize(min(capacity, max(64, ring.count * 2))) }
        let place = (head + count) % ring.count
        let stamp = count > 0 ? max(stamp, entry(count - 1).stamp) : stamp
        ring[place] = Entry(fingerprint: fingerprint, sequenceNumber: sequenceNumber, stamp: stamp)
        count += 1
        index.insert(fingerprint.first, place: place)
    }

    /// Lets go of ids that are beyond the window at a moment.
    mutating func forget(at now: Int64, most: Int) {
        let end = end(at: now)
        var left = most
        while count > 0, left > 0, entry(0).stamp <= end {
            dropOldest()
            left -= 1
        }
    }

    /// Forgets the ids of events from one on, which could not be stored.
    mutating func forget(from sequenceNumber: SequenceNumber) {
        while count > 0, entry(count - 1).sequenceNumber >= sequenceNumber {
            let place = (head + count - 1) % ring.count
            index.remove(ring[place].fingerprint.first, place: place)
            count -= 1
        }
    }

    /// Remembers no more than so many ids from now on.
    mutating func setCapacity(_ new: Int) {
        capacity = new
        guard new < ring.count else { return }
        let surplus = max(0, count - new)
        if surplus > 0 { forgottenThrough = entry(surplus - 1).sequenceNumber }
        forgotten += surplus
        head = ring.isEmpty ? 0 : (head + surplus) % ring.count
        count -= surplus
        resize(new)
    }

    /// Makes room for so many at once.
    mutating func reserve(_ ids: Int) {
        let size = min(ids, capacity)
        if size > ring.count { resize(size) }
    }

    private func end(at now: Int64) -> Int64 {
        let (end, overflow) = now.subtractingReportingOverflow(length)
        return overflow ? .min : end
    }

    private func entry(_ place: Int) -> Entry { ring[(head + place) % ring.count] }

    /// How many entries, which are the oldest, have their stamp at or before a moment.
    private func beyond(_ end: Int64) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if entry(middle).stamp <= end { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func dropOldest() {
        forgottenThrough = ring[head].sequenceNumber
        forgotten += 1
        index.remove(ring[head].fingerprint.first, place: head)
        head = (head + 1) % ring.count
        count -= 1
    }

    private mutating func resize(_ size: Int) {
        let entries = (0..<count).map(entry)
        let blank = Entry(fingerprint: Fingerprint(first: 0, second: 0), sequenceNumber: 0, stamp: 0)
        ring = entries + Array(repeating: blank, count: size - count)
        head = 0
        index = FingerprintIndex(places: size)
        for place in 0..<count { index.insert(ring[place].fingerprint.first, place: place) }
    }
}

/// Finds places by hash: open addressing with linear probing, eight bytes a slot and at most half full. A look at an id that is new
/// reads one line of memory, mostly.
struct FingerprintIndex {
    /// Where one of the fingerprints lies.
    private struct Slot {
        /// A place plus one; 0 is free.
        var place: UInt32 = 0
        /// The low half of its hash, so that a slot's home is known without looking at its place.
        var hash: UInt32 = 0
    }

    private var slots: [Slot]

    /// - Parameter places: the most places that will be held at once.
    init(places: Int = 0) {
        var size = 4
        while size < places * 2 { size *= 2 }
        slots = Array(repeating: Slot(), count: size)
    }

    private var mask: Int { slots.count - 1 }

    func find(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? {
        let short = UInt32(truncatingIfNeeded: hash)
        var index = Int(short) & mask
        while true {
            let slot = slots[index]
            guard slot.place != 0 else { return nil }
            let place = Int(slot.place) - 1
            if slot.hash == short, matches(place) { return place }
            index = (index + 1) & mask
        }
    }

    mutating func insert(_ hash: UInt64, place: Int) {
        let short = UInt32(truncatingIfNeeded: hash)
        var index = Int(short) & mask
        while slots[index].place != 0 { index = (index + 1) & mask }
        slots[index] = Slot(place: UInt32(place + 1), hash: short)
    }

    /// Removes one, and moves back those behind it that would no longer be found.
    mutating func remove(_ hash: UInt64, place: Int) {
        var index = Int(UInt32(truncatingIfNeeded: hash)) & mask
        while slots[index].place != UInt32(place + 1) {
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
    }
}
