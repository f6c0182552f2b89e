import HeadgateData

/// Gathers what is remembered of a group's ids in the form in which a store keeps it: for each id its event's sequence
/// number, the stamp of its receipt and the two halves of its fingerprint, 8 bytes each, little-endian. However long an id
/// is, it takes no more (Behaviour Q7).
struct RecentIDsWriter {
    private var bytes: [UInt8] = []
    private var count = 0
    private var receivedStamp: Int64 = 0

    mutating func append(
        _ fingerprint: DedupeWindow.Fingerprint, sequenceNumber: SequenceNumber, receivedStamp stamp: Int64
    ) {
        bytes += LittleEndian.bytes(sequenceNumber) + LittleEndian.bytes(stamp)
        bytes += LittleEndian.bytes(fingerprint.first) + LittleEndian.bytes(fingerprint.second)
        receivedStamp = stamp
        count += 1
    }

    /// Gives out what was gathered, if anything, and starts again.
    mutating func take(lastSequenceNumber: SequenceNumber) -> RecentIDs? {
        defer { self = RecentIDsWriter() }
        guard count > 0 else { return nil }
        return RecentIDs(
            lastSequenceNumber: lastSequenceNumber, receivedStamp: receivedStamp, count: count, bytes: bytes)
    }
}

extension RecentIDs {
    /// Bytes that an id takes as a fingerprint.
    private static let entrySize = 32

    /// Goes over the ids; stops where the bytes make no sense.
    func visit(_ key: DedupeKey, _ body: (DedupeWindow.Fingerprint, SequenceNumber, Int64) -> Void) {
        switch form {
        case .fingerprints: visitFingerprints(body)
        case .plain: visitPlain { body(key.fingerprint($0), $1, receivedStamp) }
        }
    }

    private func visitFingerprints(_ body: (DedupeWindow.Fingerprint, SequenceNumber, Int64) -> Void) {
        bytes.withUnsafeBytes { bytes in
            for place in stride(from: 0, through: bytes.count - RecentIDs.entrySize, by: RecentIDs.entrySize) {
                let fingerprint = DedupeWindow.Fingerprint(
                    first: LittleEndian.load(bytes, at: place + 16, as: UInt64.self),
                    second: LittleEndian.load(bytes, at: place + 24, as: UInt64.self))
                body(
                    fingerprint, LittleEndian.load(bytes, at: place, as: Int64.self),
                    LittleEndian.load(bytes, at: place + 8, as: Int64.self))
            }
        }
    }

    /// For each id its event's sequence number (8 bytes), the lengths of namespace and id (4 bytes each), and both.
    private func visitPlain(_ body: (TrackedEvent.Identity, SequenceNumber) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            while place + 16 <= bytes.count {
                let number = LittleEndian.load(bytes, at: place, as: SequenceNumber.self)
                let namespace = Int(LittleEndian.load(bytes, at: place + 8, as: UInt32.self))
                let id = Int(LittleEndian.load(bytes, at: place + 12, as: UInt32.self))
                let start = place + 16
                guard start + namespace + id <= bytes.count else { return }
                let name = String(decoding: bytes[start..<start + namespace], as: UTF8.self)
                let idBytes = UnsafeRawBufferPointer(rebasing: bytes[start + namespace..<start + namespace + id])
                body(TrackedEvent.Identity(namespace: name, id: idBytes), number)
                place = start + namespace + id
            }
        }
    }
}
