/// Remembers which ids clients gave to their events, so that an event that is sent again is stored once (Behaviour Q7).
///
/// It is bounded in time and in number. An id takes 24 bytes and a slot of 4 to 8: it is known by 128 bits of two
/// hashes that are keyed anew by every process, so that no client can aim at another's ids.
public struct DedupeWindow {
    /// Two keyed hashes of a namespace and an id.
    struct Fingerprint: Equatable {
        var first: UInt64
        var second: UInt64
    }

    private struct Entry {
        var fingerprint: Fingerprint
        var sequenceNumber: SequenceNumber
    }

    /// The entries in the order of their sequence numbers, `head` being the oldest's place.
    private var ring: [Entry] = []
    private var head = 0
    private var count = 0
    private var index = FingerprintIndex()
    private let capacity: Int
    /// How far the ids had come at some moments, a minute apart or more.
    private var marks: [(stamp: Int64, sequenceNumber: SequenceNumber)] = []

    /// - Parameter capacity: the most ids remembered.
    public init(capacity: Int = 500_000) {
        self.capacity = capacity
    }

    static func fingerprint(_ identity: TrackedEvent.Identity) -> Fingerprint {
        Fingerprint(first: hash(identity, seed: 1), second: hash(identity, seed: 2))
    }

    private static func hash(_ identity: TrackedEvent.Identity, seed: UInt8) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(seed)
        var namespace = identity.namespace
        // The length in front keeps apart what only differs in where the namespace ends.
        namespace.withUTF8 { bytes in
            hasher.combine(bytes.count)
            hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        hasher.combine(bytes: identity.id)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The event that an id was given to.
    func find(_ fingerprint: Fingerprint) -> SequenceNumber? {
        index.find(fingerprint.first) { ring[$0].fingerprint == fingerprint }.map { ring[$0].sequenceNumber }
    }

    /// Remembers an id. Sequence numbers must grow.
    mutating func insert(_ fingerprint: Fingerprint, sequenceNumber: SequenceNumber) {
        if count == capacity { dropOldest() }
        if count == ring.count { grow() }
        let place = (head + count) % ring.count
        ring[place] = Entry(fingerprint: fingerprint, sequenceNumber: sequenceNumber)
        count += 1
        index.insert(fingerprint.first, place: place)
    }

    /// Notes that all ids so far had come by this moment of the age scale, so that they can be forgotten in time.
    mutating func mark(_ stamp: Int64) {
        guard count > 0, stamp >= (marks.last?.stamp ?? .min) + 60_000 else { return }
        marks.append((stamp, ring[(head + count - 1) % ring.count].sequenceNumber))
    }

    /// Forgets the ids that had come by a moment, to the minute.
    mutating func forget(markedBy stamp: Int64) {
        let old = marks.prefix { $0.stamp <= stamp }
        guard let last = old.last else { return }
        forget(through: last.sequenceNumber)
        marks.removeFirst(old.count)
    }

    /// Forgets the ids of events up to and including one.
    private mutating func forget(through sequenceNumber: SequenceNumber) {
        while count > 0, ring[head].sequenceNumber <= sequenceNumber { dropOldest() }
    }

    /// Forgets the ids of events from one on, which could not be stored.
    mutating func forget(from sequenceNumber: SequenceNumber) {
        while count > 0 {
            let place = (head + count - 1) % ring.count
            guard ring[place].sequenceNumber >= sequenceNumber else { return }
            index.remove(ring[place].fingerprint.first, place: place)
            count -= 1
        }
    }

    private mutating func dropOldest() {
        index.remove(ring[head].fingerprint.first, place: head)
        head = (head + 1) % ring.count
        count -= 1
    }

    private mutating func grow() {
        let entries = (0..<count).map { ring[(head + $0) % ring.count] }
        let size = min(capacity, max(64, ring.count * 2))
        let blank = Entry(fingerprint: Fingerprint(first: 0, second: 0), sequenceNumber: 0)
        ring = entries + Array(repeating: blank, count: size - count)
        head = 0
        index = FingerprintIndex(places: size)
        for place in 0..<count { index.insert(ring[place].fingerprint.first, place: place) }
    }
}
