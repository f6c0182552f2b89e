import HeadgateData

/// Where the parts of a stored event's head lie, which ``RecordWriter`` lays as `{"id":…,"seq":…,"event":…,"time":…,"received_at":…`
/// and perhaps `,"key":…`. All but the name have lengths that are known, so nothing has to be searched.
///
/// A view: it is valid as long as the bytes are.
struct RecordHead {
    let header: RecordHeader
    private let bytes: UnsafeRawBufferPointer
    private let start: Int

    /// - Parameter offset: where the record begins; it is sound.
    init(_ header: RecordHeader, _ bytes: UnsafeRawBufferPointer, at offset: Int) {
        self.header = header
        self.bytes = bytes
        start = offset + RecordHeader.size
    }

    private static let beforeNumber = #","seq":"#.utf8.count
    private static let beforeName = #","event":"#.utf8.count
    /// `,"time":"…","received_at":"…"`, and of that what stands behind the quote before the second time.
    private static let timesLength = #","time":,"received_at":"#.utf8.count + 2 * 26

    /// The id's JSON string, quotes and all.
    var id: UnsafeRawBufferPointer {
        piece(RecordHeader.idStart, Int(header.idLength))
    }

    /// The name's JSON string, quotes and all; nil where the head is laid otherwise.
    var name: UnsafeRawBufferPointer? {
        let from =
            RecordHeader.idStart + Int(header.idLength) + RecordHead.beforeNumber
            + header.sequenceNumber.digitCount + RecordHead.beforeName
        let end = timesEnd - RecordHead.timesLength
        guard from + 2 <= end, bytes[start + from] == UInt8(ascii: "\""), bytes[start + end] == UInt8(ascii: ",")
        else { return nil }
        return piece(from, end - from)
    }

    /// The time of receipt as it is spelled, without quotes; nil where the head is laid otherwise.
    var receivedAt: UnsafeRawBufferPointer? {
        let end = timesEnd
        guard end >= 26, bytes[start + end - 1] == UInt8(ascii: "\""), bytes[start + end - 26] == UInt8(ascii: "\"")
        else { return nil }
        return piece(end - 25, 24)
    }

    /// Behind both times: the head's end, or the key.
    private var timesEnd: Int {
        Int(header.headLength) - (header.keyLength == 0 ? 0 : Int(header.keyLength) + #","key":"#.utf8.count)
    }

    private func piece(_ from: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start + from..<start + from + count])
    }
}
