/// The ids of a dedupe window in order of arrival, 24 bytes each. An id keeps its index, as in a ``PagedQueue``.
///
/// An entry contains only the distance of its sequence number and its stamp from those of an anchor. Both grow slowly,
/// so a new anchor is rarely needed.
struct RememberedIDs {
    /// A remembered id.
    struct Entry {
        var fingerprint: DedupeWindow.Fingerprint
        var sequenceNumber: SequenceNumber
        /// The time of receipt in milliseconds of the age scale.
        var stamp: Int64
    }

    private struct Packed: BitwiseCopyable {
        var fingerprint: DedupeWindow.Fingerprint
        var numbersBehind: UInt32
        var millisecondsBehind: UInt32
    }

    /// The base values of the entries from an index on.
    private struct Anchor {
        var position: Int
        var sequenceNumber: SequenceNumber
        var stamp: Int64
    }

    private var packed: PagedQueue<Packed>
    /// The anchors, ascending by index. The first anchor is at the oldest entry or before it.
    private var anchors: [Anchor] = []

    /// - Parameter page: the page of the first index.
    init(page: Int = 0) {
        packed = PagedQueue(page: page)
    }

    /// The index of the oldest entry.
    var start: Int { packed.start }
    /// The index after the newest entry.
    var end: Int { packed.end }
    var count: Int { packed.count }
    var isEmpty: Bool { packed.isEmpty }

    subscript(position: Int) -> Entry {
        let entry = packed[position]
        // Mostly there is only one anchor.
        var index = anchors.count - 1
        while anchors[index].position > position { index -= 1 }
        return Entry(
            fingerprint: entry.fingerprint, sequenceNumber: anchors[index].sequenceNumber + Int64(entry.numbersBehind),
            stamp: anchors[index].stamp + Int64(entry.millisecondsBehind))
    }

    /// The entry at the only index in use with these low bits (``FingerprintIndex``).
    subscript(nearest short: UInt32) -> Entry { self[packed.position(nearest: short)] }

    /// Adds an entry. Its sequence number and stamp must not be less than those of the previous entry.
    mutating func append(_ entry: Entry) {
        if isEmpty { anchors = [] }
        if let behind = behindAnchor(entry) { return packed.append(behind) }
        anchors.append(Anchor(position: end, sequenceNumber: entry.sequenceNumber, stamp: entry.stamp))
        packed.append(Packed(fingerprint: entry.fingerprint, numbersBehind: 0, millisecondsBehind: 0))
    }

    /// Returns the entry relative to the last anchor, or nil if the distance is too large or there is no anchor.
    private func behindAnchor(_ entry: Entry) -> Packed? {
        guard let anchor = anchors.last,
            let numbers = entry.sequenceNumber.distance(behind: anchor.sequenceNumber),
            let milliseconds = entry.stamp.distance(behind: anchor.stamp)
        else { return nil }
        return Packed(fingerprint: entry.fingerprint, numbersBehind: numbers, millisecondsBehind: milliseconds)
    }

    /// Removes the oldest entry.
    mutating func removeFirst() {
        packed.removeFirst()
        if anchors.count > 1, anchors[1].position <= start { anchors.removeFirst() }
    }

    /// Removes the newest entry.
    mutating func removeLast() {
        packed.removeLast()
        if anchors.last?.position == end { anchors.removeLast() }
    }
}

extension Int64 {
    /// Returns the distance from a smaller number, or nil if the number is not smaller or the distance is too large.
    fileprivate func distance(behind other: Int64) -> UInt32? {
        let (distance, overflow) = subtractingReportingOverflow(other)
        return overflow ? nil : UInt32(exactly: distance)
    }
}
