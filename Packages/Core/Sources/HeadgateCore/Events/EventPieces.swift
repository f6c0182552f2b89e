import HeadgateData

/// The parts of a stored event, for a store that keeps each in a column of its own.
public struct EventPieces: Sendable, Equatable {
    public let sequenceNumber: SequenceNumber
    public let route: RouteNumber
    /// The receipt, on the age scale, in milliseconds.
    public let receivedStamp: Int64
    /// The end of the event's time to live, on the age scale, in milliseconds; 0 is never.
    public let expiryStamp: Int64
    /// The size of the id's JSON string in bytes. The string follows `{"id":` in the head.
    public let idLength: Int
    /// The size of the key's JSON string in bytes; 0 if there is no key. The string ends the head.
    public let keyLength: Int
    /// `{"id":…,"seq":…,"event":…,"time":…,"received_at":…,"key":…`, the beginning of an object, without its closing brace.
    public let head: [UInt8]
    /// The event's context: a JSON object.
    public let context: [UInt8]
    /// The event's data: a JSON object.
    public let data: [UInt8]

    /// Bytes of the stored JSON.
    public var byteCount: Int { head.count + context.count + data.count }

    public init(_ event: StoredEvent) {
        let (header, record) = (event.header, event.record)
        (sequenceNumber, route) = (header.sequenceNumber, header.route)
        (receivedStamp, expiryStamp) = (header.receivedStamp, header.expiryStamp)
        (idLength, keyLength) = (Int(header.idLength), Int(header.keyLength))
        let headEnd = RecordHeader.size + Int(header.headLength)
        let contextEnd = headEnd + Int(header.contextLength)
        head = Array(record[RecordHeader.size..<headEnd])
        (context, data) = (Array(record[headEnd..<contextEnd]), Array(record[contextEnd...]))
    }

    /// Creates the parts that a store has kept; nil if their lengths are inconsistent.
    public init?(
        sequenceNumber: SequenceNumber, route: RouteNumber, receivedStamp: Int64, expiryStamp: Int64, idLength: Int,
        keyLength: Int, head: [UInt8], context: [UInt8], data: [UInt8]
    ) {
        (self.sequenceNumber, self.route) = (sequenceNumber, route)
        (self.receivedStamp, self.expiryStamp) = (receivedStamp, expiryStamp)
        (self.idLength, self.keyLength) = (idLength, keyLength)
        (self.head, self.context, self.data) = (head, context, data)
        guard UInt32(exactly: idLength) != nil, UInt32(exactly: keyLength) != nil,
            UInt32(exactly: RecordHeader.size + byteCount) != nil, header.isSound
        else { return nil }
    }

    private var header: RecordHeader {
        RecordHeader(
            length: UInt32(RecordHeader.size + byteCount), route: route, sequenceNumber: sequenceNumber,
            receivedStamp: receivedStamp, expiryStamp: expiryStamp, headLength: UInt32(head.count),
            contextLength: UInt32(context.count), idLength: UInt32(idLength), keyLength: UInt32(keyLength))
    }

    /// The event's record, as a ``Chunk`` contains it.
    public var record: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: RecordHeader.size)
        bytes.withUnsafeMutableBytes { header.write(to: $0, at: 0) }
        return bytes + head + context + data
    }
}
