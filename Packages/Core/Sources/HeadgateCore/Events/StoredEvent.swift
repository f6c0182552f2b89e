import HeadgateData

/// An accepted event within a chunk.
public struct StoredEvent {
    /// The chunk that holds the event's bytes.
    let chunk: Chunk
    /// The offset of the event's record in the chunk.
    let offset: Int
    let header: RecordHeader

    /// The event's position in the order of acceptance.
    public var sequenceNumber: SequenceNumber { header.sequenceNumber }
    /// The route: the set of dispatchers that get the event.
    public var route: RouteNumber { header.route }
    /// The time of receipt on the age scale, in milliseconds.
    public var receivedStamp: Int64 { header.receivedStamp }

    /// The size of the stored JSON in bytes, which counts against the store's limit (Behaviour Q4).
    public var byteCount: Int { Int(header.length) - RecordHeader.size }

    /// The offset of the next record in the chunk.
    var end: Int { offset + Int(header.length) }

    /// The event as a tally: one event and its stored bytes.
    var tally: Tally { Tally(events: 1, bytes: byteCount) }

    /// Returns true if the event's own time to live has ended.
    public func isExpired(at stamp: Int64) -> Bool {
        header.expiryStamp != 0 && header.expiryStamp <= stamp
    }

    /// The id as a JSON string, with its quotes.
    public var id: String {
        withPiece(from: RecordHeader.idStart, count: Int(header.idLength)) { String(decoding: $0, as: UTF8.self) }
    }

    /// The offset of the id's JSON string in the chunk.
    var idOffset: Int { offset + RecordHeader.size + RecordHeader.idStart }

    /// The key's JSON string as the client wrote it; nil if there is no key.
    var key: ArraySlice<UInt8>? {
        guard header.keyLength > 0 else { return nil }
        let end = offset + RecordHeader.size + Int(header.headLength)
        return chunk.bytes[(end - Int(header.keyLength))..<end]
    }

    /// The decoded key; nil if there is no key.
    var orderKey: EventKey? { key.map(EventKey.init) }

    /// A copy of the event's record.
    public var record: [UInt8] {
        Array(chunk.bytes[offset..<offset + Int(header.length)])
    }

    /// The event's own time to live, counted from its receipt; nil if there is none.
    var timeToLive: Duration? {
        header.expiryStamp == 0 ? nil : .milliseconds(max(0, header.expiryStamp &- header.receivedStamp))
    }

    /// Writes the three stored pieces of JSON with another sequence number in the head.
    func writePieces(into writer: inout JSONWriter, sequenceNumber: SequenceNumber) {
        let beforeNumber = RecordHeader.idStart + Int(header.idLength)
        withPiece(from: 0, count: beforeNumber) { writer.raw($0) }
        writer.raw(#","seq":"#)
        writer.integer(sequenceNumber)
        let behindNumber = beforeNumber + #","seq":"#.utf8.count + self.sequenceNumber.digitCount
        // Never skip into the key, even if the record's lengths are wrong: the copy must be a valid record.
        let rest = min(behindNumber, Int(header.headLength) - Int(header.keyLength))
        withPiece(from: rest, count: byteCount - rest) { writer.raw($0) }
    }

    /// Returns the event as it is sent, without transformations and annotation.
    /// - Parameters:
    ///   - attempt: the number of charged attempts plus one.
    ///   - isReplayed: true if a rewind made the event pending again (Behaviour R2).
    public func json(attempt: Int, isReplayed: Bool = false) -> [UInt8] {
        var writer = JSONWriter(capacity: byteCount + 64)
        write(into: &writer, attempt: attempt, isReplayed: isReplayed)
        return writer.bytes
    }

    /// Writes the event in the form in which dispatchers deliver it:
    /// `{"id","seq","event","time","received_at","key"?,"attempt","replayed"?,"context","data"}`.
    /// - Parameters:
    ///   - attempt: the number of charged attempts plus one (Behaviour D9).
    ///   - isReplayed: true if a rewind made the event pending again (Behaviour R2).
    ///   - annotation: members to add to the data of an event that a barrier held (Behaviour D13).
    func write(
        into writer: inout JSONWriter, attempt: Int, isReplayed: Bool = false, annotation: QueuedAnnotation? = nil
    ) {
        let (head, context) = (Int(header.headLength), Int(header.contextLength))
        withPiece(from: 0, count: byteCount) { json in
            writer.bytes.append(most: byteCount + StoredEvent.mostAdded + (annotation?.members.count ?? 0)) { cursor in
                cursor.put(UnsafeRawBufferPointer(rebasing: json[..<head]))
                cursor.put(#","attempt":"#)
                cursor.put(Int64(attempt))
                if isReplayed { cursor.put(#","replayed":true"#) }
                cursor.put(#","context":"#)
                cursor.put(UnsafeRawBufferPointer(rebasing: json[head..<head + context]))
                cursor.put(#","data":"#)
                cursor.put(UnsafeRawBufferPointer(rebasing: json[(head + context)...]), annotation)
                cursor.put("}")
            }
        }
    }

    /// The most bytes that sending adds to the stored JSON, without an annotation and the comma before it.
    private static let mostAdded = #","attempt":,"replayed":true,"context":,"data":},"#.utf8.count + 20

    private func withPiece<Result>(
        from start: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        let first = offset + RecordHeader.size + start
        return chunk.bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[first..<first + count])) }
    }
}

extension ByteCursor {
    /// Writes an object with the members of an annotation, which replace members of the same name.
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

    /// Writes the members of an object that the annotation does not replace, each followed by a comma.
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

/// Consecutive stored events: a committed group, or several events read back at once. A chunk is immutable and shared
/// by all its readers.
public final class Chunk: Sendable {
    /// The records, one after another.
    public let bytes: [UInt8]
    /// The highest sequence number of the range that the chunk covers. Its event may have been removed.
    public let lastSequenceNumber: SequenceNumber

    public init(bytes: [UInt8], lastSequenceNumber: SequenceNumber) {
        self.bytes = bytes
        self.lastSequenceNumber = lastSequenceNumber
    }

    /// Returns the event whose record begins at `offset`, or nil at the end of the chunk and at a damaged record.
    public func event(at offset: Int) -> StoredEvent? {
        header(at: offset).map { StoredEvent(chunk: self, offset: offset, header: $0) }
    }

    /// The sequence number of the first event; ``lastSequenceNumber`` if the first record is damaged.
    public var firstSequenceNumber: SequenceNumber { header(at: 0)?.sequenceNumber ?? lastSequenceNumber }

    private func header(at offset: Int) -> RecordHeader? {
        guard offset >= 0, offset + RecordHeader.size <= bytes.count else { return nil }
        let header = bytes.withUnsafeBytes { RecordHeader($0, at: offset) }
        guard header.isSound, offset + Int(header.length) <= bytes.count else { return nil }
        return header
    }

    /// Returns the offset of the record after `event`.
    public func offset(after event: StoredEvent) -> Int { event.end }
}

extension Chunk: Sequence {
    /// Iterates over the chunk's events in order.
    public func makeIterator() -> AnyIterator<StoredEvent> {
        var offset = 0
        return AnyIterator {
            guard let event = self.event(at: offset) else { return nil }
            offset = self.offset(after: event)
            return event
        }
    }
}
