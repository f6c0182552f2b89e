/// What is remembered of ids, in the order in which they came, in 24 bytes each. They keep their places, as in a ``PagedQueue``.
///
/// Numbers and times grow by little from one to the next, so an entry tells only how far they are behind those of an anchor: a new one
/// is set where that would be too far, which is rare.
struct RememberedIDs {
    /// An id that is remembered.
    struct Entry {
        var fingerprint: DedupeWindow.Fingerprint
        var sequenceNumber: SequenceNumber
        /// When it was received, in milliseconds of the age scale.
        var stamp: Int64
    }

    private struct Packed: BitwiseCopyable {
        var fingerprint: DedupeWindow.Fingerprint
        var numbersBehind: UInt32
        var millisecondsBehind: UInt32
    }

    /// From here on entries tell how far they are behind these.
    private struct Anchor {
        var place: Int
        var sequenceNumber: SequenceNumber
        var stamp: Int64
    }

    private var packed: PagedQueue<Packed>
    /// In the order of their places; the first one's is that of the oldest entry or before it.
    private var anchors: [Anchor] = []

    /// - Parameter page: where places begin, in pages.
    init(page: Int = 0) {
        packed = PagedQueue(page: page)
    }

    /// The place of the oldest.
    var start: Int { packed.start }
    /// The place behind the newest.
    var end: Int { packed.end }
    var count: Int { packed.count }
    var isEmpty: Bool { packed.isEmpty }

    subscript(place: Int) -> Entry {
        let entry = packed[place]
        // Mostly there is but one.
        var index = anchors.count - 1
        while anchors[index].place > place { index -= 1 }
        return Entry(
            fingerprint: entry.fingerprint, sequenceNumber: anchors[index].sequenceNumber + Int64(entry.numbersBehind),
            stamp: anchors[index].stamp + Int64(entry.millisecondsBehind))
    }

    /// The entry at the only place there is with these low bits (``FingerprintIndex``).
    subscript(nearest short: UInt32) -> Entry { self[packed.place(nearest: short)] }

    /// Neither the number nor the time may be before those of the entry before.
    mutating func append(_ entry: Entry) {
        if isEmpty { anchors = [] }
        if let behind = behindAnchor(entry) { return packed.append(behind) }
        anchors.append(Anchor(place: end, sequenceNumber: entry.sequenceNumber, stamp: entry.stamp))
        packed.append(Packed(fingerprint: entry.fingerprint, numbersBehind: 0, millisecondsBehind: 0))
    }

    /// Nil where it is too far behind the last anchor, or there is none.
    private func behindAnchor(_ entry: Entry) -> Packed? {
        guard let anchor = anchors.last,
            let numbers = entry.sequenceNumber.distance(behind: anchor.sequenceNumber),
            let milliseconds = entry.stamp.distance(behind: anchor.stamp)
        else { return nil }
        return Packed(fingerprint: entry.fingerprint, numbersBehind: numbers, millisecondsBehind: milliseconds)
    }

    /// Takes out the oldest.
    mutating func removeFirst() {
        packed.removeFirst()
        if anchors.count > 1, anchors[1].place <= start { anchors.removeFirst() }
    }

    /// Takes out the newest.
    mutating func removeLast() {
        packed.removeLast()
        if anchors.last?.place == end { anchors.removeLast() }
    }
}

extension Int64 {
    /// How far it is behind another; nil where it is before that, or too far behind.
    fileprivate func distance(behind other: Int64) -> UInt32? {
        let (distance, overflow) = subtractingReportingOverflow(other)
        return overflow ? nil : UInt32(exactly: distance)
    }
}
