import HeadgateData
import Testing

@testable import HeadgateCore

/// Tests of the encodings that stores keep. Other versions and other machines must read them in the same way.
@Suite("Stored encodings")
struct GoldenBytesTests {
    @Test("Q11: a record's header is a sequence of little-endian integers")
    func header() {
        let header = RecordHeader(
            length: 0x0102_0304, route: 0x0506_0708, sequenceNumber: 0x1112_1314_1516_1718,
            receivedStamp: -2, expiryStamp: 0x2122_2324_2526_2728, headLength: 0x3132_3334,
            contextLength: 0x4142_4344, idLength: 0x5152_5354, keyLength: 0x6162_6364)
        var bytes = [UInt8](repeating: 0xAA, count: RecordHeader.size + 2)
        bytes.withUnsafeMutableBytes { header.write(to: $0, at: 1) }
        #expect(
            bytes == [0xAA] + [
                4, 3, 2, 1, 8, 7, 6, 5, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF,
                0xFF, 0xFF, 0xFF, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43,
                0x42, 0x41, 0x54, 0x53, 0x52, 0x51, 0x64, 0x63, 0x62, 0x61,
            ] + [0xAA])
        let read = bytes.withUnsafeBytes { RecordHeader($0, at: 1) }
        #expect(read == header)
    }

    @Test("Q7, Q11: a remembered id is 32 bytes: number, stamp and fingerprint")
    func recentIDs() throws {
        var writer = RecentIDsWriter()
        let nothing = writer.take(lastSequenceNumber: 1)
        #expect(nothing == nil)
        writer.append(.init(first: 0x0807_0605_0403_0201, second: 1), sequenceNumber: 258, receivedStamp: -1)
        writer.append(.init(first: .max, second: 2), sequenceNumber: 259, receivedStamp: 3)
        let taken = writer.take(lastSequenceNumber: 260)
        let ids = try #require(taken)
        let first: [UInt8] = [2, 1, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8) + [1, 2, 3, 4, 5, 6, 7, 8]
        let second: [UInt8] = [3, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 8)
        #expect(ids.bytes == first + [1, 0, 0, 0, 0, 0, 0, 0] + second + [2, 0, 0, 0, 0, 0, 0, 0])
        #expect((ids.lastSequenceNumber, ids.receivedStamp, ids.count, ids.form) == (260, 3, 2, .fingerprints))
        var visited: [SequenceNumber] = []
        ids.visit(DedupeKey()) { _, number, _ in visited.append(number) }
        #expect(visited == [258, 259])
    }

    @Test("Q7: an id is hashed by SipHash-2-4-128, as in its authors' examples")
    func sipHash() {
        let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908)
        let examples: [(Int, [UInt8])] = [
            (0, [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93]),
            (1, [0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45]),
            (63, [0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd, 0x7c]),
        ]
        for (count, expected) in examples {
            let (first, second) = (0..<count).map { UInt8($0) }.withUnsafeBytes { SipHash.hash($0, key: key) }
            #expect(LittleEndian.bytes(first) + LittleEndian.bytes(second) == expected)
        }
    }

    @Test("Q7, Q11: the key is stored as 16 bytes, and an id has the same fingerprint in every version")
    func key() throws {
        let key = try #require(DedupeKey(kept: Array(0..<16)))
        #expect(key.kept == Array(0..<16))
        let fingerprint = key.fingerprint(of: "a", in: "uid:1000")
        let bytes = LittleEndian.bytes(fingerprint.first) + LittleEndian.bytes(fingerprint.second)
        #expect(
            bytes == [0xe8, 0x24, 0x7d, 0x63, 0x40, 0x15, 0xf6, 0xb2, 0x48, 0x4b, 0xe0, 0x0e, 0xea, 0xb3, 0xa1, 0x1e])
        #expect(DedupeKey(kept: []) == nil && DedupeKey(kept: Array(0..<17)) == nil)
        #expect(DedupeKey() != DedupeKey())
    }

    @Test("P7, Q11: the age scale is stored in this encoding, and other bytes are rejected")
    func clockPair() {
        let clocks = ClockReading(
            now: Instant(nanoseconds: 0), wall: Timestamp(milliseconds: -2), sinceBoot: 0x0102, boot: "ab")
        let pair = ClockPair(stamp: 3, clocks, reference: WallReference(wall: Timestamp(milliseconds: -2), stamp: 4))
        let times: [UInt8] = [2, 3, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0]
        let bytes: [UInt8] =
            times + [1, 0xFE] + [UInt8](repeating: 255, count: 7) + [4, 0, 0, 0, 0, 0, 0, 0] + Array("ab".utf8)
        #expect(pair.kept == bytes)
        #expect(ClockPair(kept: bytes) == pair)
        let bare = ClockPair(stamp: 3, clocks, reference: nil)
        #expect(bare.kept == times + [0] + Array("ab".utf8))
        #expect(ClockPair(kept: bare.kept) == bare)
        let doubt = WallReference(wall: Timestamp(milliseconds: 6), stamp: 5)
        let doubted = ClockPair(stamp: 3, clocks, reference: nil, doubt: doubt)
        let ofDoubt: [UInt8] = [6, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
        #expect(doubted.kept == times + [2] + ofDoubt + Array("ab".utf8))
        #expect(ClockPair(kept: doubted.kept) == doubted)
        let both = ClockPair(stamp: 3, clocks, reference: pair.reference, doubt: doubt)
        #expect(both.kept == times + [3] + bytes[18..<34] + ofDoubt + Array("ab".utf8))
        #expect(ClockPair(kept: both.kept) == both)
        let others: [[UInt8]] = [
            [], [1] + bytes.dropFirst(), Array(bytes.prefix(33)), Array(bytes.prefix(17)), times + [2],
            [2] + [UInt8](repeating: 0x7F, count: 16) + [0], times + [4] + ofDoubt, times + [3] + ofDoubt,
        ]
        for wrong in others {
            #expect(ClockPair(kept: wrong) == nil)
        }
    }
}
