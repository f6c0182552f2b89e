import Testing

@testable import HeadgateCore

/// Tests of copies of stored records under another sequence number.
@Suite struct RecordCopyTests {
    @Test("Q8: the copy of a record has its id and key, even if the numbers in its header and its JSON differ")
    func damaged() throws {
        let copy = try copy(of: record(#"{"id":"a","seq":8,"key":"k""#, sequenceNumber: .max))
        #expect(copy.id == #""a""#)
        #expect(copy.key.map(Array.init) == Array(#""k""#.utf8))
    }

    private func record(_ head: String, sequenceNumber: SequenceNumber) -> [UInt8] {
        let header = RecordHeader(
            length: UInt32(RecordHeader.size + head.utf8.count + 4), route: 1, sequenceNumber: sequenceNumber,
            receivedStamp: 0, expiryStamp: 0, headLength: UInt32(head.utf8.count), contextLength: 2, idLength: 3,
            keyLength: 3)
        var bytes = [UInt8](repeating: 0, count: RecordHeader.size)
        bytes.withUnsafeMutableBytes { header.write(to: $0, at: 0) }
        return bytes + Array(head.utf8) + Array("{}{}".utf8)
    }

    private func copy(of record: [UInt8]) throws -> StoredEvent {
        let event = try #require(Chunk(bytes: record, lastSequenceNumber: 1).event(at: 0))
        var writer = RecordWriter()
        _ = writer.append(event, sequenceNumber: 1, route: 1, receivedStamp: 0)
        return try #require(Chunk(bytes: writer.take(), lastSequenceNumber: 1).event(at: 0))
    }
}
