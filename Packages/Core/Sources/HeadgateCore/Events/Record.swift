import HeadgateData

/// Renders events into the bytes of a chunk in the making.
package struct RecordWriter {
    private var json: JSONWriter
    private var times = TimestampText()

    /// - Parameter bytes: about how much will be written.
    package init(expecting bytes: Int = 0) {
        json = JSONWriter(capacity: bytes)
    }

    var byteCount: Int { json.bytes.count }

    /// Appends one record.
    /// - Returns: the bytes of its stored JSON.
    package mutating func append(
        _ event: TrackedEvent, sequenceNumber: SequenceNumber, receivedAt: Timestamp, receivedStamp: Int64
    ) -> Int {
        let byteCount = event.storedByteCount(sequenceNumber)
        append(
            event, byteCount, sequenceNumber: sequenceNumber, receivedAt: receivedAt, receivedStamp: receivedStamp)
        return byteCount
    }

    /// The same where it is known already what the event takes.
    mutating func append(
        _ event: TrackedEvent, _ byteCount: Int, sequenceNumber: SequenceNumber, receivedAt: Timestamp,
        receivedStamp: Int64
    ) {
        json.bytes.lay(most: RecordHeader.size + byteCount) { cursor in
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

    /// Appends the record of an event that was stored before, under another number. What stands in it stays as it was,
    /// byte by byte; how old it is, and its time to live, count from `receivedStamp`.
    /// - Returns: the bytes of its stored JSON.
    mutating func append(
        _ event: StoredEvent, sequenceNumber: SequenceNumber, route: RouteNumber, receivedStamp: Int64
    ) -> Int {
        let start = json.bytes.count
        json.bytes.lay(most: RecordHeader.size) { $0.skip(RecordHeader.size) }
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

    /// Gives out what was written and starts again.
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
        times.lend(event.time ?? receivedAt) { put($0) }
        put(#","received_at":"#)
        times.lend(receivedAt) { put($0) }
        guard let key = event.key else { return }
        put(#","key":"#)
        put(key)
    }
}

extension TrackedEvent {
    /// What the event's JSON takes once it is stored under a number, as ``RecordWriter`` lays it.
    ///
    /// These are its own pieces, and around them the names, the number and the two times.
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

/// The fixed part in front of a stored event. A record is this header, then three pieces of JSON:
///
/// - head: `{"id":…,"seq":…,"event":…,"time":…,"received_at":…,"key":…`, cut off before `,"attempt"`,
/// - context: an object,
/// - data: an object.
///
/// An event is thus rendered once, when it is accepted, and delivered by copying.
struct RecordHeader: Equatable {
    /// Bytes of the whole record, this header included.
    var length: UInt32
    /// The dispatchers that the event goes to.
    var route: RouteNumber
    var sequenceNumber: SequenceNumber
    /// The receipt, on the age scale, in milliseconds.
    var receivedStamp: Int64
    /// When the event is of no more use, on the age scale, in milliseconds; 0 is never.
    var expiryStamp: Int64
    /// Bytes of the head.
    var headLength: UInt32
    /// Bytes of the context.
    var contextLength: UInt32
    /// Bytes of the id's JSON string, which stands behind `{"id":`.
    var idLength: UInt32
    /// Bytes of the key's JSON string, which ends the head; 0 when there is none.
    var keyLength: UInt32

    /// Bytes that a header takes in a chunk.
    static let size = 48
    /// Bytes in front of the id in the head.
    static let idStart = #"{"id":"#.utf8.count

    /// When an event is of no more use, on the age scale in milliseconds; 0 is never. A time to live that ends beyond the
    /// scale never ends.
    static func expiryStamp(of timeToLive: Duration?, receivedAt stamp: Int64) -> Int64 {
        guard let timeToLive else { return 0 }
        let (end, overflow) = stamp.addingReportingOverflow(timeToLive.wholeMilliseconds)
        return overflow ? 0 : end
    }

    /// Bytes of the event's data.
    var dataLength: Int {
        Int(length) - RecordHeader.size - Int(headLength) - Int(contextLength)
    }

    /// Whether the lengths fit together; a record for which they do not is damaged.
    var isSound: Bool {
        let idEnd = RecordHeader.idStart + Int(idLength)
        return Int(length) >= RecordHeader.size && dataLength >= 2 && contextLength >= 2
            && idEnd + Int(keyLength) <= Int(headLength)
    }
}

/// The header as it lies in a chunk: its numbers one behind the other, little-endian, whatever the machine and however
/// Swift lays the struct (Behaviour Q11). The version of the store's format has to grow when this changes.
extension RecordHeader {
    /// Reads the header that begins at `offset`; there must be ``size`` bytes.
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

    /// Writes the header to `offset`, over ``size`` bytes.
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
