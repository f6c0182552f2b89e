import HeadgateData

/// The positions of the parts in a stored event's head, which ``RecordWriter`` writes as
/// `{"id":…,"seq":…,"event":…,"time":…,"received_at":…` with an optional `,"key":…`. All parts except the name have
/// known lengths, so nothing has to be parsed.
///
/// The head is a view: it is valid only as long as the bytes are.
struct RecordHead {
    let header: RecordHeader
    private let bytes: UnsafeRawBufferPointer
    private let start: Int

    /// - Parameter offset: the offset of a valid record.
    init(_ header: RecordHeader, _ bytes: UnsafeRawBufferPointer, at offset: Int) {
        self.header = header
        self.bytes = bytes
        start = offset + RecordHeader.size
    }

    private static let beforeNumber = #","seq":"#.utf8.count
    private static let beforeName = #","event":"#.utf8.count
    /// The length of `,"time":"…","received_at":"…"`.
    private static let timesLength = #","time":,"received_at":"#.utf8.count + 2 * 26

    /// The id as a JSON string, with its quotes.
    var id: UnsafeRawBufferPointer {
        piece(RecordHeader.idStart, Int(header.idLength))
    }

    /// The name as a JSON string, with its quotes; nil if the head has another form.
    var name: UnsafeRawBufferPointer? {
        let from =
            RecordHeader.idStart + Int(header.idLength) + RecordHead.beforeNumber
            + header.sequenceNumber.digitCount + RecordHead.beforeName
        let end = timesEnd - RecordHead.timesLength
        guard from + 2 <= end, bytes[start + from] == UInt8(ascii: "\""), bytes[start + end] == UInt8(ascii: ",")
        else { return nil }
        return piece(from, end - from)
    }

    /// The time of receipt as text without quotes; nil if the head has another form.
    var receivedAt: UnsafeRawBufferPointer? {
        let end = timesEnd
        guard end >= 26, bytes[start + end - 1] == UInt8(ascii: "\""), bytes[start + end - 26] == UInt8(ascii: "\"")
        else { return nil }
        return piece(end - 25, 24)
    }

    /// The offset after both times: the end of the head, or the beginning of the key.
    private var timesEnd: Int {
        Int(header.headLength) - (header.keyLength == 0 ? 0 : Int(header.keyLength) + #","key":"#.utf8.count)
    }

    private func piece(_ from: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start + from..<start + from + count])
    }
}
