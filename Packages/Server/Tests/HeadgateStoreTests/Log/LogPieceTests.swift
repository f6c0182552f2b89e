import Foundation
import HeadgateCore
import HeadgateSeeds
import Testing

@testable import HeadgateStore

@Suite("Pieces of a log that may be packed")
struct LogPieceTests {
    /// The size of a piece's header in bytes.
    private static let head = 8

    /// The number of bytes that are left to read.
    private struct Rest: LogCodable {
        let count: Int

        func write(to writer: inout LogWriter) {}

        init(from reader: inout LogReader) { count = reader.left }
    }

    private func encoded(_ bytes: [UInt8], packedFrom least: Int = 1) -> [UInt8] {
        var writer = LogWriter()
        writer.put(UInt8(7))
        writer.put(bytes, packedFrom: least)
        #expect(writer.bytes.first == 7)
        return Array(writer.bytes.dropFirst())
    }

    /// Returns the bytes of a piece, or nil if the piece is damaged.
    private func read(_ piece: [UInt8]) -> [UInt8]? {
        piece.withRawBytes { piece in
            var (reader, bytes) = (LogReader(piece), [7] as [UInt8])
            guard let piece = try? reader.takePackedPiece() else { return nil }
            let isSound = piece.append(to: &bytes)
            #expect(bytes.first == 7 && (isSound || bytes.count == 1))
            #expect((try? piece.read() as Rest)?.count == (isSound ? bytes.count - 1 : nil))
            return isSound ? Array(bytes.dropFirst()) : nil
        }
    }

    @Test(
        "P1: the read bytes equal the written ones, and packing saves an eighth or is omitted",
        arguments: [0, 1, 7, 30, 1_000, 70_000, 3 << 20])
    func roundTrip(size: Int) throws {
        let text = Array(#"{"event":"sold","data":{"price":12.5}}"#.utf8)
        let bytes = (0..<size).map { text[($0 + $0 / 999) % text.count] }
        let piece = encoded(bytes)
        #expect(piece.count == size + Self.head ? size <= 30 : piece.count <= size - size / 8 + Self.head)
        #expect(read(piece) == bytes)
        let plain = encoded(bytes, packedFrom: size + 1)
        #expect(Array(plain.dropFirst(Self.head)) == bytes && read(plain) == bytes)
    }

    @Test("Q6: a group that packing does not shorten is stored as it is")
    func noise() {
        var random = SeededRandom(seed: Seed(1))
        let bytes = (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        #expect(Array(encoded(bytes).dropFirst(Self.head)) == bytes)
    }

    private let thousands = [UInt8]((0..<2_000).map { UInt8($0 % 50) })

    @Test("Q8: bytes that are not a packed group unpack to nil, and take no memory")
    func unsound() throws {
        let whole = encoded(thousands)
        #expect(whole.count < 500 && read(whole) == thousands)
        for count in 0..<whole.count { #expect(read(Array(whole.prefix(count))) == nil, "\(count)") }
        for size in [0, 1_999, 2_001, UInt32.max] {
            var writer = LogWriter()
            writer.put(size)
            #expect(read(writer.bytes + whole.dropFirst(4)) == nil, "\(size)")
        }
    }

    @Test("Q8: after any damage the unpacked group has the right size, or is nil", arguments: Seeds.first(5))
    func changed(_ seed: Seed) throws {
        var random = SeededRandom(seed: seed)
        let whole = encoded(thousands)
        for _ in 0..<200 {
            var changed = whole
            changed[Int.random(in: Self.head..<changed.count, using: &random)] ^= UInt8.random(
                in: 1...255, using: &random)
            if let found = read(changed) { #expect(found.count == thousands.count) }
        }
    }

    // MARK: In a log

    private let scene = StoreScene(durability: .normal)

    /// Stores events 1 to 40 in packed groups of ten, and closes the store.
    private func fill() throws {
        scene.options.leastPacked = 100
        try scene.open()
        scene.write(.dispatcher(.at(0)))
        try append(1...40)
        scene.close()
    }

    private func append(_ numbers: ClosedRange<SequenceNumber>) throws {
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 10) {
            scene.append(Groups.of(first...first + 9, size: 200, newRoutes: first == 1 ? [1: [1]] : [:]))
        }
    }

    /// Returns the kinds and ranges of the groups of the first segment, and the bytes and path of its file.
    private func groups() throws -> (kinds: [LogFrame.Kind], ranges: [Range<Int>], bytes: [UInt8], path: String) {
        let path = scene.options.logDirectory + "/000001.log"
        let bytes = try #require(FileManager.default.contents(atPath: path)).map { $0 }
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { throw POSIXError(.EIO) }
        let found = bytes.dropFirst(LogHeader.size).withUnsafeBytes { bytes in
            let start = LogPosition(segment: header.number, offset: LogHeader.size)
            return SegmentReport(LogScan(bytes, from: start, behind: header.checksum), from: LogHeader.size).frames
        }
        let groups = found.filter { $0.frame.kind == .group }
        return (groups.map(\.frame.kind), groups.map { $0.offset..<$0.offset + $0.frame.size }, bytes, path)
    }

    @Test("Q8: damage in a packed group loses that group alone, and counts its events", arguments: [52, 200, -9])
    func damage(_ offset: Int) throws {
        try fill()
        var (kinds, ranges, bytes, path) = try groups()
        #expect(kinds == Array(repeating: .group, count: 4))
        bytes[offset < 0 ? ranges[1].upperBound + offset : ranges[1].lowerBound + offset] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 40)
        #expect(state.warnings.count == 1 && state.warnings[0].contains("10 events"), "\(state.warnings)")
        #expect(try scene.numbers() == Array(1...10) + Array(21...40))
    }

    @Test(
        "Q8: events of a packed group that cannot be unpacked are missing and counted"
    )
    func foreign() throws {
        try fill()
        var (_, ranges, bytes, path) = try groups()
        // The frame is intact, but a faulty program wrote packed bytes that cannot be unpacked.
        let range = ranges[3]
        guard case .header(let header) = bytes.withUnsafeBytes(LogHeader.read) else { return }
        let offset = LogPosition(segment: header.number, offset: range.lowerBound)
        let old = try #require(bytes[range].withUnsafeBytes { LogFrame($0, at: offset) })
        var content = Array(bytes[range].dropFirst(LogFrame.headerSize).prefix(old.length))
        content.replaceSubrange(content.count - 20..<content.count, with: repeatElement(255, count: 20))
        var writer = LogWriter()
        _ = writer.frame(
            .group, at: offset, certain: old.certain, previous: old.previous
        ) { $0.putRest(content) }
        bytes.replaceSubrange(range.lowerBound..<range.lowerBound + writer.bytes.count, with: writer.bytes)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let state = try scene.open()
        #expect(state.lastSequenceNumber == 40 && state.warnings == [])
        #expect(try scene.numbers() == Array(1...30))
        scene.write()
        #expect(scene.quarantined == 10)
    }
}
