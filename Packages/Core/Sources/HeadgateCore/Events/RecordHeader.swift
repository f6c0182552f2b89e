/// The fixed part in front of a stored event. A record is this header, then three pieces of JSON:
///
/// - head: `{"id":…,"seq":…,"event":…,"time":…,"received_at":…,"key":…`, cut off before `,"attempt"`,
/// - context: an object,
/// - data: an object.
///
/// An event is thus rendered once, when it is accepted, and delivered by copying.
struct RecordHeader {
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
    static let size = MemoryLayout<RecordHeader>.size
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
