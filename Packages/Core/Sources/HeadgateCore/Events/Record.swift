import HeadgateData

/// A writer that encodes events as records of a chunk.
package struct RecordWriter {
    private var json: JSONWriter
    private var times = TimestampText()

    /// - Parameter bytes: the expected size of the chunk in bytes.
    package init(expecting bytes: Int = 0) {
        json = JSONWriter(capacity: bytes)
    }

    var byteCount: Int { json.bytes.count }

    /// Appends the record of a new event.
    /// - Returns: the size of its stored JSON in bytes.
    package mutating func append(
        _ event: TrackedEvent, sequenceNumber: SequenceNumber, receivedAt: Timestamp, receivedStamp: Int64
    ) -> Int {
        let byteCount = event.storedByteCount(sequenceNumber)
        append(
            event, byteCount, sequenceNumber: sequenceNumber, receivedAt: receivedAt, receivedStamp: receivedStamp)
        return byteCount
    }

    /// Appends the record of a new event whose stored size is already known.
    /// - Parameter byteCount: the result of `TrackedEvent.storedByteCount(_:)`.
    mutating func append(
        _ event: TrackedEvent, _ byteCount: Int, sequenceNumber: SequenceNumber, receivedAt: Timestamp,
        receivedStamp: Int64
    ) {
        json.bytes.append(most: RecordHeader.size + byteCount) { cursor in
            cursor.skip(RecordHeader.size)
            cursor.putHead(event, sequenceNumber, receivedAt, &times)
            let headLength = cursor.offset - RecordHeader.size
            cursor.put(json: event.context)
            cursor.put(json: event.data)
            let header = RecordHeader(
                length: UInt32(cursor.offset), route: event.route, sequenceNumber: sequenceNumber,
                receivedStamp: receivedStamp,
                expiryStamp: RecordHeader.expiryStamp(of: event.timeToLive, receivedAt: receivedStamp),
                headLength: UInt32(headLength), contextLength: UInt32(event.context.count),
                idLength: UInt32(event.id.count), keyLength: UInt32(event.key?.count ?? 0))
            header.write(to: cursor.room, at: 0)
        }
    }

    /// Appends the record of an already stored event under a new sequence number. Its JSON stays the same byte by byte,
    /// except for the number. Its age and its time to live count from `receivedStamp`.
    /// - Returns: the size of its stored JSON in bytes.
    mutating func append(
        _ event: StoredEvent, sequenceNumber: SequenceNumber, route: RouteNumber, receivedStamp: Int64
    ) -> Int {
        let start = json.bytes.count
        json.bytes.append(most: RecordHeader.size) { $0.skip(RecordHeader.size) }
        event.writePieces(into: &json, sequenceNumber: sequenceNumber)
        let byteCount = json.bytes.count - start - RecordHeader.size
        var header = event.header
        header.length = UInt32(byteCount + RecordHeader.size)
        header.headLength = UInt32(byteCount - Int(header.contextLength) - event.header.dataLength)
        header.sequenceNumber = sequenceNumber
        header.route = route
        header.receivedStamp = receivedStamp
        header.expiryStamp = RecordHeader.expiryStamp(of: event.timeToLive, receivedAt: receivedStamp)
        json.bytes.withUnsafeMutableBytes { header.write(to: $0, at: start) }
        return byteCount
    }

    /// Returns the records written so far and begins an empty chunk.
    package mutating func take() -> [UInt8] {
        defer { json = JSONWriter() }
        return json.bytes
    }
}

extension ByteCursor {
    fileprivate mutating func putHead(
        _ event: TrackedEvent, _ sequenceNumber: SequenceNumber, _ receivedAt: Timestamp, _ times: inout TimestampText
    ) {
        put(#"{"id":"#)
        put(event.id)
        put(#","seq":"#)
        put(sequenceNumber)
        put(#","event":"#)
        put(event.name)
        put(#","time":"#)
        times.withText(event.time ?? receivedAt) { put($0) }
        put(#","received_at":"#)
        times.withText(receivedAt) { put($0) }
        guard let key = event.key else { return }
        put(#","key":"#)
        put(key)
    }
}

extension TrackedEvent {
    /// Returns the size of the event's stored JSON under a sequence number, in bytes: the size of its parts, and of the
    /// member names, the number and the two times around them. It equals what ``RecordWriter`` writes.
    @inline(__always)
    func storedByteCount(_ sequenceNumber: SequenceNumber) -> Int {
        let pieces = id.count &+ name.count &+ context.count &+ data.count
        let (frame, keyName): (StaticString, StaticString) = (
            #"{"id":,"seq":,"event":,"time":,"received_at":"#, #","key":"#
        )
        let whole = pieces &+ frame.utf8CodeUnitCount &+ 2 &* TimestampText.byteCount &+ sequenceNumber.digitCount
        guard let key else { return whole }
        return whole &+ keyName.utf8CodeUnitCount &+ key.count
    }
}

/// The fixed part at the beginning of a record. A record is this header, followed by three pieces of JSON:
///
/// - head: `{"id":…,"seq":…,"event":…,"time":…,"received_at":…,"key":…`, which ends before `,"attempt"`,
/// - context: an object,
/// - data: an object.
///
/// An event is thus encoded once, when it is accepted, and is delivered by copying the pieces.
struct RecordHeader: Equatable {
    /// The size of the whole record with this header, in bytes.
    var length: UInt32
    /// The route: the set of dispatchers that get the event.
    var route: RouteNumber
    var sequenceNumber: SequenceNumber
    /// The time of receipt on the age scale, in milliseconds.
    var receivedStamp: Int64
    /// The end of the event's own time to live on the age scale, in milliseconds; 0 if it has none.
    var expiryStamp: Int64
    /// The size of the head in bytes.
    var headLength: UInt32
    /// The size of the context in bytes.
    var contextLength: UInt32
    /// The size of the id's JSON string in bytes. The string follows `{"id":`.
    var idLength: UInt32
    /// The size of the key's JSON string in bytes; 0 if there is no key. The string ends the head.
    var keyLength: UInt32

    /// The size of a header in a chunk, in bytes.
    static let size = 48
    /// The offset of the id within the head.
    static let idStart = #"{"id":"#.utf8.count

    /// Returns the end of a time to live on the age scale, in milliseconds. Returns 0 for no time to live, and for one
    /// that ends beyond the scale.
    static func expiryStamp(of timeToLive: Duration?, receivedAt stamp: Int64) -> Int64 {
        guard let timeToLive else { return 0 }
        let (end, overflow) = stamp.addingReportingOverflow(timeToLive.wholeMilliseconds)
        return overflow ? 0 : end
    }

    /// The size of the event's data in bytes.
    var dataLength: Int {
        Int(length) - RecordHeader.size - Int(headLength) - Int(contextLength)
    }

    /// True if the lengths are consistent. A record with inconsistent lengths is damaged.
    var isSound: Bool {
        let idEnd = RecordHeader.idStart + Int(idLength)
        return Int(length) >= RecordHeader.size && dataLength >= 2 && contextLength >= 2
            && idEnd + Int(keyLength) <= Int(headLength)
    }
}

/// The positions of some members' JSON strings in an event as it is delivered, each with its quotes.
public struct EventHead: Sendable, Equatable {
    /// The position of the id.
    public let id: Range<Int>
    /// The position of the name.
    public let name: Range<Int>
    /// The position of the time, which has no escapes.
    public let time: Range<Int>
    /// The position of the key; nil if the event has none.
    public let key: Range<Int>?

    package init(id: Range<Int>, name: Range<Int>, time: Range<Int>, key: Range<Int>?) {
        (self.id, self.name, self.time, self.key) = (id, name, time, key)
    }
}

extension RecordHeader {
    /// The positions of members in the head; nil if its lengths are wrong.
    var head: EventHead? {
        let (seq, event, time): (StaticString, StaticString, StaticString) = (#","seq":"#, #","event":"#, #","time":"#)
        let (receivedAt, key): (StaticString, StaticString) = (#","received_at":"#, #","key":"#)
        let idEnd = RecordHeader.idStart + Int(idLength)
        let nameStart = idEnd + seq.utf8CodeUnitCount + sequenceNumber.digitCount + event.utf8CodeUnitCount
        let keyStart = Int(headLength) - Int(keyLength)
        let timesEnd = keyLength == 0 ? keyStart : keyStart - key.utf8CodeUnitCount
        let timeEnd = timesEnd - TimestampText.byteCount - receivedAt.utf8CodeUnitCount
        let timeStart = timeEnd - TimestampText.byteCount
        let nameEnd = timeStart - time.utf8CodeUnitCount
        guard idLength >= 2, nameEnd - nameStart >= 2, keyLength != 1 else { return nil }
        return EventHead(
            id: RecordHeader.idStart..<idEnd, name: nameStart..<nameEnd, time: timeStart..<timeEnd,
            key: keyLength == 0 ? nil : keyStart..<Int(headLength))
    }
}

/// The header's layout in a chunk: its numbers in order, little-endian, independent of the machine and of Swift's
/// memory layout (Behaviour Q11). A change of the layout requires a new version of the store's format.
extension RecordHeader {
    /// Reads the header that begins at `offset`. The bytes must contain ``size`` bytes from there.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        length = LittleEndian.load(bytes, at: offset, as: UInt32.self)
        route = LittleEndian.load(bytes, at: offset + 4, as: RouteNumber.self)
        sequenceNumber = LittleEndian.load(bytes, at: offset + 8, as: SequenceNumber.self)
        receivedStamp = LittleEndian.load(bytes, at: offset + 16, as: Int64.self)
        expiryStamp = LittleEndian.load(bytes, at: offset + 24, as: Int64.self)
        headLength = LittleEndian.load(bytes, at: offset + 32, as: UInt32.self)
        contextLength = LittleEndian.load(bytes, at: offset + 36, as: UInt32.self)
        idLength = LittleEndian.load(bytes, at: offset + 40, as: UInt32.self)
        keyLength = LittleEndian.load(bytes, at: offset + 44, as: UInt32.self)
    }

    /// Writes the header to ``size`` bytes from `offset`.
    @inline(__always)
    func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
        LittleEndian.store(length, in: bytes, at: offset)
        LittleEndian.store(route, in: bytes, at: offset + 4)
        LittleEndian.store(sequenceNumber, in: bytes, at: offset + 8)
        LittleEndian.store(receivedStamp, in: bytes, at: offset + 16)
        LittleEndian.store(expiryStamp, in: bytes, at: offset + 24)
        LittleEndian.store(headLength, in: bytes, at: offset + 32)
        LittleEndian.store(contextLength, in: bytes, at: offset + 36)
        LittleEndian.store(idLength, in: bytes, at: offset + 40)
        LittleEndian.store(keyLength, in: bytes, at: offset + 44)
    }
}
