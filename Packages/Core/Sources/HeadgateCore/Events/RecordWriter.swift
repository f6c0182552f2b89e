import HeadgateData

/// Renders events into the bytes of a chunk in the making.
struct RecordWriter {
    private var json: JSONWriter

    /// - Parameter bytes: about how much will be written.
    init(expecting bytes: Int = 0) {
        json = JSONWriter(capacity: bytes)
    }

    var byteCount: Int { json.bytes.count }

    /// Appends one record.
    /// - Returns: the bytes of its stored JSON.
    mutating func append(
        _ event: TrackedEvent, sequenceNumber: SequenceNumber, receivedAt: Timestamp, receivedStamp: Int64
    ) -> Int {
        let start = json.bytes.count
        reserveHeader()
        writeHead(event, sequenceNumber: sequenceNumber, receivedAt: receivedAt)
        let headLength = json.bytes.count - start - RecordHeader.size
        json.raw(event.context)
        json.raw(event.data)
        let header = RecordHeader(
            length: UInt32(json.bytes.count - start), route: event.route, sequenceNumber: sequenceNumber,
            receivedStamp: receivedStamp,
            expiryStamp: RecordHeader.expiryStamp(of: event.timeToLive, receivedAt: receivedStamp),
            headLength: UInt32(headLength), contextLength: UInt32(event.context.count),
            idLength: UInt32(event.id.count), keyLength: UInt32(event.key?.count ?? 0))
        json.bytes.withUnsafeMutableBytes { header.write(to: $0, at: start) }
        return json.bytes.count - start - RecordHeader.size
    }

    /// Appends the record of an event that was stored before, under another number. What stands in it stays as it was,
    /// byte by byte; how old it is, and its time to live, count from `receivedStamp`.
    /// - Returns: the bytes of its stored JSON.
    mutating func append(
        _ event: StoredEvent, sequenceNumber: SequenceNumber, route: RouteNumber, receivedStamp: Int64
    ) -> Int {
        let start = json.bytes.count
        reserveHeader()
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
    mutating func take() -> [UInt8] {
        defer { json = JSONWriter() }
        return json.bytes
    }

    private mutating func reserveHeader() {
        withUnsafeTemporaryAllocation(byteCount: RecordHeader.size, alignment: 8) { blank in
            blank.initializeMemory(as: UInt8.self, repeating: 0)
            json.raw(UnsafeRawBufferPointer(blank))
        }
    }

    private mutating func writeHead(_ event: TrackedEvent, sequenceNumber: SequenceNumber, receivedAt: Timestamp) {
        json.raw(#"{"id":"#)
        json.raw(event.id)
        json.raw(#","seq":"#)
        json.integer(sequenceNumber)
        json.raw(#","event":"#)
        json.raw(event.name)
        json.raw(#","time":"#)
        json.timestamp(event.time ?? receivedAt)
        json.raw(#","received_at":"#)
        json.timestamp(receivedAt)
        guard let key = event.key else { return }
        json.raw(#","key":"#)
        json.raw(key)
    }
}

extension TrackedEvent {
    /// What the event's JSON takes once it is stored under a number, as ``RecordWriter`` lays it: its own pieces, and
    /// around them the names, the two times and the number.
    func storedByteCount(_ sequenceNumber: SequenceNumber) -> Int {
        let pieces = id.count + name.count + context.count + data.count
        let frame = #"{"id":,"seq":,"event":,"time":,"received_at":"#.utf8.count + 2 * Timestamp.jsonByteCount
        return pieces + frame + (key.map { $0.count + #","key":"#.utf8.count } ?? 0) + sequenceNumber.digitCount
    }
}

extension SequenceNumber {
    /// How many decimal digits it takes; it is never negative.
    var digitCount: Int {
        var count = 1
        var rest = self / 10
        while rest > 0 {
            count += 1
            rest /= 10
        }
        return count
    }
}

extension Timestamp {
    /// Bytes of a moment as a JSON string, like `"2026-11-20T09:41:55.123Z"`.
    fileprivate static let jsonByteCount = 26
}
