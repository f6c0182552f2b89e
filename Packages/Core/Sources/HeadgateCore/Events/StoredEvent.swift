import HeadgateData

/// An accepted event where it lies in its chunk.
public struct StoredEvent {
    /// The chunk that holds the event's bytes.
    let chunk: Chunk
    /// Where its record begins in the chunk.
    let offset: Int
    let header: RecordHeader

    /// The event's place in the order of acceptance.
    public var sequenceNumber: SequenceNumber { header.sequenceNumber }
    /// The dispatchers that it goes to.
    public var route: RouteNumber { header.route }
    /// Its receipt, on the age scale, in milliseconds.
    public var receivedStamp: Int64 { header.receivedStamp }

    /// Bytes of the stored JSON, which is what the store's limit counts (Behaviour Q4).
    public var byteCount: Int { Int(header.length) - RecordHeader.size }

    /// Where the next record begins in the chunk.
    var end: Int { offset + Int(header.length) }

    /// What it counts in the store.
    var tally: Tally { Tally(events: 1, bytes: byteCount) }

    /// Whether the event's own time to live is over.
    public func isExpired(at stamp: Int64) -> Bool {
        header.expiryStamp != 0 && header.expiryStamp <= stamp
    }

    /// The id's JSON string.
    public var id: String {
        withPiece(from: RecordHeader.idStart, count: Int(header.idLength)) { String(decoding: $0, as: UTF8.self) }
    }

    /// Where that begins in the chunk.
    var idOffset: Int { offset + RecordHeader.size + RecordHeader.idStart }

    /// The key's JSON string, as it was spelled; nil when there is none.
    var key: ArraySlice<UInt8>? {
        guard header.keyLength > 0 else { return nil }
        let end = offset + RecordHeader.size + Int(header.headLength)
        return chunk.bytes[(end - Int(header.keyLength))..<end]
    }

    /// What the key says; nil when there is none.
    var orderKey: EventKey? { key.map(EventKey.init) }

    /// The event's record alone.
    public var record: [UInt8] {
        Array(chunk.bytes[offset..<offset + Int(header.length)])
    }

    /// How long the event is of use, from its receipt; nil: for ever.
    var timeToLive: Duration? {
        header.expiryStamp == 0 ? nil : .milliseconds(max(0, header.expiryStamp &- header.receivedStamp))
    }

    /// Writes the three pieces of JSON as they are stored, with another number in the head.
    func writePieces(into writer: inout JSONWriter, sequenceNumber: SequenceNumber) {
        let beforeNumber = RecordHeader.idStart + Int(header.idLength)
        withPiece(from: 0, count: beforeNumber) { writer.raw($0) }
        writer.raw(#","seq":"#)
        writer.integer(sequenceNumber)
        let behindNumber = beforeNumber + #","seq":"#.utf8.count + self.sequenceNumber.digitCount
        // No more than what stands before the key, whatever a record says of itself: the copy has to be a record.
        let rest = min(behindNumber, Int(header.headLength) - Int(header.keyLength))
        withPiece(from: rest, count: byteCount - rest) { writer.raw($0) }
    }

    /// The event as it is sent, neither transformed nor annotated.
    /// - Parameter attempt: the charged attempts plus one.
    public func json(attempt: Int) -> [UInt8] {
        var writer = JSONWriter(capacity: byteCount + 48)
        write(into: &writer, attempt: attempt)
        return writer.bytes
    }

    /// Writes the event as dispatchers deliver it: `{"id","seq","event","time","received_at","key"?,"attempt","context","data"}`.
    /// - Parameters:
    ///   - attempt: the charged attempts plus one (Behaviour D9).
    ///   - annotation: what is added to the data of an event that was held (Behaviour D13).
    func write(into writer: inout JSONWriter, attempt: Int, annotation: QueuedAnnotation? = nil) {
        let (head, context) = (Int(header.headLength), Int(header.contextLength))
        withPiece(from: 0, count: byteCount) { json in
            writer.bytes.lay(most: byteCount + StoredEvent.mostAdded + (annotation?.members.count ?? 0)) { cursor in
                cursor.put(UnsafeRawBufferPointer(rebasing: json[..<head]))
                cursor.put(#","attempt":"#)
                cursor.put(Int64(attempt))
                cursor.put(#","context":"#)
                cursor.put(UnsafeRawBufferPointer(rebasing: json[head..<head + context]))
                cursor.put(#","data":"#)
                cursor.put(UnsafeRawBufferPointer(rebasing: json[(head + context)...]), annotation)
                cursor.put("}")
            }
        }
    }

    /// The most bytes that stand in what is sent and not in what is stored, but for an annotation and the comma before it.
    private static let mostAdded = #","attempt":,"context":,"data":},"#.utf8.count + 20

    private func withPiece<Result>(
        from start: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let first = offset + RecordHeader.size + start
        return chunk.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[first..<first + count])) }
    }
}

extension ByteCursor {
    /// Lays an object, and adds members in the place of those that have their names.
    fileprivate mutating func put(_ object: UnsafeRawBufferPointer, _ annotation: QueuedAnnotation?) {
        guard let annotation else { return put(object) }
        put("{")
        if annotation.mayReplace(membersOf: object) {
            putMembers(of: JSONOutline(object), object, but: annotation)
        } else {
            let members = UnsafeRawBufferPointer(rebasing: object.dropFirst().dropLast())
            if !members.allSatisfy({ $0 <= 0x20 }) {
                put(members)
                put(",")
            }
        }
        annotation.members.withUnsafeBytes { put($0) }
        put("}")
    }

    /// Lays the members of an object that an annotation does not replace, each with a comma behind it.
    private mutating func putMembers(
        of outline: JSONOutline, _ object: UnsafeRawBufferPointer, but annotation: QueuedAnnotation
    ) {
        for member in outline.members(of: outline.whole) {
            if annotation.names.contains(where: { outline.string(member.name, equals: $0) }) { continue }
            put(UnsafeRawBufferPointer(rebasing: object[member.name]))
            put(":")
            put(UnsafeRawBufferPointer(rebasing: object[member.value]))
            put(",")
        }
    }
}

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
        header(at: offset).map { StoredEvent(chunk: self, offset: offset, header: $0) }
    }

    /// The number of its first event; that of its last where the bytes are no record.
    public var firstSequenceNumber: SequenceNumber { header(at: 0)?.sequenceNumber ?? lastSequenceNumber }

    private func header(at offset: Int) -> RecordHeader? {
        guard offset >= 0, offset + RecordHeader.size <= bytes.count else { return nil }
        let header = bytes.withUnsafeBytes { RecordHeader($0, at: offset) }
        guard header.isSound, offset + Int(header.length) <= bytes.count else { return nil }
        return header
    }

    /// Where the record behind `event` begins.
    public func offset(after event: StoredEvent) -> Int { event.end }
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

/// The place of a dispatch in the order of acceptance. Numbers only grow and are never used twice; there may be gaps.
public typealias SequenceNumber = Int64
