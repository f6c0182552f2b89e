import HeadgateData

/// The remembered ids that clients gave their events, so that a repeated event is stored once (Behaviour Q7).
///
/// The window is limited by age and by number, whichever is reached first. An id beyond the window is not found, even
/// while its entry still exists. An id is known by 128 bits of a keyed hash (``DedupeKey``). It takes 24 bytes, and 16
/// to 32 bytes of the index.
struct DedupeWindow {
    /// The keyed hash of a namespace and an id.
    struct Fingerprint: Equatable, BitwiseCopyable {
        var first: UInt64
        var second: UInt64
    }

    /// The entries, ordered by sequence number and by stamp.
    private var entries: RememberedIDs
    private var index = FingerprintIndex()
    /// The most ids remembered.
    private(set) var capacity: Int
    /// The time for which an id is remembered, in milliseconds of the age scale.
    var length: Int64
    /// The ids of events up to this sequence number are forgotten.
    private(set) var forgottenThrough: SequenceNumber = 0
    /// The number of ids dropped because of their age or number.
    private(set) var forgotten = 0

    /// The most expired ids that are dropped with each new one: more than one, so that they are freed soon, and few
    /// enough to cause no delay.
    private static let step = 64

    /// - Parameter page: the first index; only tests set it.
    init(capacity: Int, length: Int64, page: Int = 0) {
        self.capacity = capacity
        self.length = length
        entries = RememberedIDs(page: page)
    }

    /// Returns the sequence number of the event with an id, or nil if the window at `now` does not contain the id.
    func find(_ fingerprint: Fingerprint, at now: Int64) -> SequenceNumber? {
        let end = self.end(at: now)
        let position = index.find(fingerprint.first) { short in
            let entry = entries[nearest: short]
            return entry.fingerprint == fingerprint && entry.stamp > end
        }
        return position.map { entries[nearest: $0].sequenceNumber }
    }

    /// Returns the number of ids that the window contains at `now`, and the stamp of the oldest.
    func remembered(at now: Int64) -> (ids: Int, since: Int64?) {
        let first = firstWithin(end(at: now))
        return (entries.end - first, first < entries.end ? entries[first].stamp : nil)
    }

    /// Remembers an id. Sequence numbers must increase. A stamp below the previous one is replaced with the previous
    /// one.
    mutating func insert(_ fingerprint: Fingerprint, sequenceNumber: SequenceNumber, stamp: Int64) {
        forget(at: stamp, most: DedupeWindow.step)
        guard capacity > 0 else {
            forgotten += 1
            forgottenThrough = sequenceNumber
            return
        }
        if entries.count >= capacity { dropOldest() }
        let stamp = entries.isEmpty ? stamp : max(stamp, entries[entries.end - 1].stamp)
        let position = entries.end
        entries.append(.init(fingerprint: fingerprint, sequenceNumber: sequenceNumber, stamp: stamp))
        index.insert(fingerprint.first, position: position)
    }

    /// Drops ids that are outside the window at `now`, at most `most`.
    mutating func forget(at now: Int64, most: Int) {
        let end = end(at: now)
        var left = most
        while left > 0, !entries.isEmpty, entries[entries.start].stamp <= end {
            dropOldest()
            left -= 1
        }
    }

    /// Forgets the ids of events from `sequenceNumber` on, because these events could not be stored.
    mutating func forget(from sequenceNumber: SequenceNumber) {
        while !entries.isEmpty, entries[entries.end - 1].sequenceNumber >= sequenceNumber {
            let position = entries.end - 1
            index.remove(entries[position].fingerprint.first, position: position)
            entries.removeLast()
        }
    }

    /// Changes the number of ids that are remembered and drops surplus ids.
    mutating func setCapacity(_ new: Int) {
        capacity = new
        let surplus = entries.count - new
        guard surplus > 0 else { return }
        forgotten += surplus
        forgottenThrough = entries[entries.start + surplus - 1].sequenceNumber
        for _ in 0..<surplus { entries.removeFirst() }
        index = FingerprintIndex()
        for position in entries.start..<entries.end {
            index.insert(entries[position].fingerprint.first, position: position)
        }
    }

    private func end(at now: Int64) -> Int64 {
        let (end, overflow) = now.subtractingReportingOverflow(length)
        return overflow ? .min : end
    }

    /// Returns the index of the oldest entry whose stamp is later than `end`.
    private func firstWithin(_ end: Int64) -> Int {
        BinarySearch.first(in: entries.start..<entries.end) { entries[$0].stamp > end }
    }

    private mutating func dropOldest() {
        let position = entries.start
        forgottenThrough = entries[position].sequenceNumber
        forgotten += 1
        index.remove(entries[position].fingerprint.first, position: position)
        entries.removeFirst()
    }
}
