/// Stored events that lie together, in order: a group as it was committed, or several read back at once. Immutable, and
/// shared by all who read it.
public final class Chunk: Sendable {
    /// The records, one behind the other.
    public let bytes: [UInt8]
    /// The sequence number of the last record, or of the last that has ever been in this stretch.
    public let lastSequenceNumber: SequenceNumber

    public init(bytes: [UInt8], lastSequenceNumber: SequenceNumber) {
        self.bytes = bytes
        self.lastSequenceNumber = lastSequenceNumber
    }

    /// The event whose record begins at `offset`; nil at the end, and where the bytes are no record.
    public func event(at offset: Int) -> StoredEvent? {
        guard offset >= 0, offset + RecordHeader.size <= bytes.count else { return nil }
        let header = bytes.withUnsafeBytes { RecordHeader($0, at: offset) }
        guard header.isSound, offset + Int(header.length) <= bytes.count else { return nil }
        return StoredEvent(chunk: self, offset: offset, header: header)
    }

    /// Where the record behind `event` begins.
    public func offset(after event: StoredEvent) -> Int {
        event.offset + Int(event.header.length)
    }
}

extension Chunk: Sequence {
    /// Goes over the chunk's events in order.
    public func makeIterator() -> AnyIterator<StoredEvent> {
        var offset = 0
        return AnyIterator {
            guard let event = self.event(at: offset) else { return nil }
            offset = self.offset(after: event)
            return event
        }
    }
}
