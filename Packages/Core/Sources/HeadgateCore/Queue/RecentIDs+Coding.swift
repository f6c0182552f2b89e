/// Gathers the ids of a group in the form in which a store keeps them: for each, the sequence number (8 bytes), the
/// lengths of namespace and id (4 bytes each), and both. Little-endian, whatever the machine.
struct RecentIDsWriter {
    private var bytes: [UInt8] = []
    private var count = 0

    mutating func append(_ identity: TrackedEvent.Identity, sequenceNumber: SequenceNumber) {
        bytes.append(littleEndian: sequenceNumber)
        bytes.append(littleEndian: UInt32(identity.namespace.utf8.count))
        bytes.append(littleEndian: UInt32(identity.id.count))
        bytes.append(contentsOf: identity.namespace.utf8)
        bytes.append(contentsOf: identity.id)
        count += 1
    }

    /// Gives out what was gathered, if anything, and starts again.
    mutating func take(lastSequenceNumber: SequenceNumber, receivedStamp: Int64) -> RecentIDs? {
        defer { self = RecentIDsWriter() }
        guard count > 0 else { return nil }
        return RecentIDs(
            lastSequenceNumber: lastSequenceNumber, receivedStamp: receivedStamp, count: count, bytes: bytes)
    }
}

extension RecentIDs {
    /// Goes over the ids; stops where the bytes make no sense.
    func visit(_ body: (TrackedEvent.Identity, SequenceNumber) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var place = 0
            while place + 16 <= bytes.count {
                let number = SequenceNumber(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int64.self))
                let namespace = Int(
                    UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt32.self)))
                let id = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place + 12, as: UInt32.self)))
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

extension [UInt8] {
    fileprivate mutating func append<Value: FixedWidthInteger>(littleEndian value: Value) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
