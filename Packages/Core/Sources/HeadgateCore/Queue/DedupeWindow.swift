/// Remembers which ids clients gave to their events, so that an event that is sent again is stored once (Behaviour Q7).
///
/// It ends with an age and with a number of ids, whichever is shorter, and it ends exactly there: what is beyond is not
/// found, though it may still be held for a while. An id takes 24 bytes, and 16 to 32 of the index: it is known by 128
/// bits of a keyed hash (``DedupeKey``).
struct DedupeWindow {
    /// What is known of a namespace and an id.
    struct Fingerprint: Equatable, BitwiseCopyable {
        var first: UInt64
        var second: UInt64
    }

    /// In the order of their sequence numbers and of their stamps.
    private var entries: RememberedIDs
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

    /// - Parameter page: where places begin, which makes a difference for nobody.
    init(capacity: Int, length: Int64, page: Int = 0) {
        self.capacity = capacity
        self.length = length
        entries = RememberedIDs(page: page)
    }

    /// The event that an id was given to, as the window is at a moment.
    func find(_ fingerprint: Fingerprint, at now: Int64) -> SequenceNumber? {
        let end = self.end(at: now)
        let place = index.find(fingerprint.first) { short in
            let entry = entries[nearest: short]
            return entry.fingerprint == fingerprint && entry.stamp > end
        }
        return place.map { entries[nearest: $0].sequenceNumber }
    }

    /// How many ids are remembered at a moment, and when the oldest of them was received.
    func remembered(at now: Int64) -> (ids: Int, since: Int64?) {
        let first = firstWithin(end(at: now))
        return (entries.end - first, first < entries.end ? entries[first].stamp : nil)
    }

    /// Remembers an id. Sequence numbers must grow, and stamps must not shrink; one that does counts as the one before.
    mutating func insert(_ fingerprint: Fingerprint, sequenceNumber: SequenceNumber, stamp: Int64) {
        forget(at: stamp, most: DedupeWindow.step)
        guard capacity > 0 else {
            forgotten += 1
            forgottenThrough = sequenceNumber
            return
        }
        if entries.count >= capacity { dropOldest() }
        let stamp = entries.isEmpty ? stamp : max(stamp, entries[entries.end - 1].stamp)
        let place = entries.end
        entries.append(.init(fingerprint: fingerprint, sequenceNumber: sequenceNumber, stamp: stamp))
        index.insert(fingerprint.first, place: place)
    }

    /// Lets go of ids that are beyond the window at a moment.
    mutating func forget(at now: Int64, most: Int) {
        let end = end(at: now)
        var left = most
        while left > 0, !entries.isEmpty, entries[entries.start].stamp <= end {
            dropOldest()
            left -= 1
        }
    }

    /// Forgets the ids of events from one on, which could not be stored.
    mutating func forget(from sequenceNumber: SequenceNumber) {
        while !entries.isEmpty, entries[entries.end - 1].sequenceNumber >= sequenceNumber {
            let place = entries.end - 1
            index.remove(entries[place].fingerprint.first, place: place)
            entries.removeLast()
        }
    }

    /// Remembers no more than so many ids from now on.
    mutating func setCapacity(_ new: Int) {
        capacity = new
        let surplus = entries.count - new
        guard surplus > 0 else { return }
        forgotten += surplus
        forgottenThrough = entries[entries.start + surplus - 1].sequenceNumber
        for _ in 0..<surplus { entries.removeFirst() }
        index = FingerprintIndex()
        for place in entries.start..<entries.end { index.insert(entries[place].fingerprint.first, place: place) }
    }

    private func end(at now: Int64) -> Int64 {
        let (end, overflow) = now.subtractingReportingOverflow(length)
        return overflow ? .min : end
    }

    /// The place of the oldest entry whose stamp is behind a moment.
    private func firstWithin(_ end: Int64) -> Int {
        var (low, high) = (entries.start, entries.end)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].stamp <= end { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func dropOldest() {
        let place = entries.start
        forgottenThrough = entries[place].sequenceNumber
        forgotten += 1
        index.remove(entries[place].fingerprint.first, place: place)
        entries.removeFirst()
    }
}
