import HeadgateData

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
