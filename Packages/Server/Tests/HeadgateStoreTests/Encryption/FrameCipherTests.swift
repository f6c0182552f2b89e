import HeadgateEncryption
import HeadgateTransport
import Testing

@testable import HeadgateStore

@Suite("Encrypted frames") struct FrameCipherTests {
    private func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// A file's frames, and the header before them.
    private struct File {
        var header: LogHeader
        var bytes: [UInt8]
        let keyring: Keyring

        init(_ contents: [String], _ keyring: Keyring, number: UInt64 = 7) throws {
            self.keyring = keyring
            header = LogHeader(
                use: .active, number: number, previous: 0, previousEnd: 0, seal: keyring.newSeal())
            let seal = try #require(header.seal)
            let cipher = try #require(FrameCipher(seal, keyring, segment: number, header: header.bytes))
            var (writer, last) = (LogWriter(), header.checksum)
            for (index, content) in contents.enumerated() {
                let position = LogPosition(segment: number, offset: LogHeader.size + writer.bytes.count)
                let kind: LogFrame.Kind = index == 0 ? .snapshot : .changes
                last = writer.frame(
                    kind, at: position, certain: 0, previous: last, sealedBy: cipher
                ) { $0.put(content) }
            }
            bytes = writer.bytes
        }

        /// Returns the contents of the sound frames up to the first damaged one.
        func contents(under header: LogHeader? = nil, hidesHeader: Bool = false) -> [String] {
            let header = header ?? self.header
            guard let opener = FrameOpener(hidesHeader ? nil : header, segment: header.number, keyring)
            else { return [] }
            return bytes.withUnsafeBytes { bytes in
                let start = LogPosition(segment: header.number, offset: LogHeader.size)
                var scan = LogScan(bytes, from: start, behind: header.checksum, opener: opener)
                var contents: [String] = []
                while case .frame(let frame, let offset) = scan.next() {
                    var reader = LogReader(scan.content(of: frame, at: offset))
                    contents.append((try? reader.take(String.self)) ?? "?")
                }
                return contents
            }
        }
    }

    @Test("C1: frames are read as they were written, and contain no plain text", arguments: SealAlgorithm.allCases)
    func whole(_ algorithm: SealAlgorithm) throws {
        let texts = ["first text", "", String(repeating: "long ", count: 2_000)]
        let file = try File(texts, try Keys.ring(3, algorithm: algorithm))
        #expect(file.contents() == texts)
        #expect(file.bytes.firstRange(of: Array("text".utf8)) == nil)
        #expect(file.bytes.firstRange(of: Array("long".utf8)) == nil)
    }

    @Test("C1: a header and a frame are encoded as these bytes")
    func golden() throws {
        let keyring = Keyring(try Keys.of(3), encrypts: true, algorithm: .aes256GCM) { bytes in
            for index in bytes.indices { bytes[index] = UInt8(index) }
        }
        let file = try File(["abc"], keyring, number: 5)
        #expect(hex(file.header.bytes) == FrameCipherTests.goldenHeader)
        #expect(hex(file.bytes) == FrameCipherTests.goldenFrame)
    }

    private static let goldenHeader =
        "68676174656c6f676900000001000000050000000000000000000000000000000000000000000000010003000e080b15"
        + "00010203040506070c2a08cb2f778e4c"
    private static let goldenFrame =
        "4866653103000000330000000000000000000000000000000c2a08cb2f778e4c2cafadb6ed45f9d00dc248a4faf3c9f5"
        + "010003000e080b150001020304050607000102030405060708090a0be6ec85f88433d7ff49a6060b886c45922fe8affc"
        + "2e6c9b0000000000"

    @Test("C1: a changed byte is damage, also with correct checksums")
    func changed() throws {
        let file = try File(["one", "two", "three"], try Keys.ring(3))
        let sizes = (0..<file.bytes.count)
        let second = LogFrame.size(of: FrameCipher.overhead + 7)
        for position in sizes.dropFirst(second).prefix(second) {
            var changed = file
            changed.bytes[position] ^= 1
            // The zeros between two frames are not part of either.
            let isPadding = position - second >= LogFrame.headerSize + FrameCipher.overhead + 7
            #expect(changed.contents() == (isPadding ? ["one", "two", "three"] : ["one"]), "\(position)")
            // A changed checksum is not repaired, because that would restore the original bytes.
            guard !(32..<48).contains(position - second), let repaired = repaired(changed.bytes, at: second, number: 7)
            else { continue }
            changed.bytes = repaired
            #expect(changed.contents() == (isPadding ? ["one", "two", "three"] : ["one"]), "\(position), repaired")
        }
    }

    /// Returns the bytes with correct checksums for the frame at an offset, or nil if the frame's header is invalid.
    private func repaired(_ bytes: [UInt8], at offset: Int, number: UInt64, from: Int? = nil) -> [UInt8]? {
        var bytes = bytes
        let isSealed =
            bytes.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
            == LogFormat.sealedMark
        return bytes.withUnsafeMutableBytes { bytes -> Bool in
            let word = { (at: Int) in
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + at, as: UInt64.self))
            }
            guard let kind = LogFrame.Kind(rawValue: UInt32(truncatingIfNeeded: word(4))), word(8) < 10_000,
                word(16) < 1 << 40, offset + LogFrame.headerSize + Int(word(8)) <= bytes.count
            else { return false }
            let content = UnsafeRawBufferPointer(
                rebasing: bytes[(offset + LogFrame.headerSize)..<(offset + LogFrame.headerSize + Int(word(8)))])
            let position = LogPosition(segment: number, offset: LogHeader.size + offset)
            LogFrame(
                kind, content, at: position, certain: Int(word(16)), previous: word(24), isSealed: isSealed
            ).write(to: bytes, at: offset)
            return true
        } ? bytes : nil
    }

    @Test("C1: a frame at another offset, in another segment or in another file is damage")
    func moved() throws {
        let keyring = try Keys.ring(3)
        let file = try File(["same", "same", "last"], keyring)
        let size = LogFrame.size(of: FrameCipher.overhead + 8)
        // The second frame in place of the third one, and the other way round.
        var swapped = file
        swapped.bytes = Array(file.bytes[..<size] + file.bytes[(2 * size)...] + file.bytes[size..<(2 * size)])
        swapped.bytes = try #require(repaired(swapped.bytes, at: size, number: 7))
        #expect(swapped.contents() == ["same"])
        // The second frame of a file of the same number, as a copy of the directory may have.
        let other = try File(["same", "more", "last"], keyring)
        var mixed = file
        mixed.bytes = Array(file.bytes[..<size] + other.bytes[size...])
        #expect(mixed.contents() == ["same"])
        // A whole file under another number.
        var renamed = file
        renamed.header.number = 8
        for offset in [0, size, 2 * size] {
            renamed.bytes = try #require(repaired(renamed.bytes, at: offset, number: 8))
        }
        #expect(renamed.contents() == [])
    }

    @Test("C1: a changed header with correct checksums is damage: the first frame authenticates the header")
    func changedHeader() throws {
        let file = try File(["one", "two"], try Keys.ring(3))
        var header = file.header
        header.previousEnd = 64
        var changed = file
        changed.bytes.withUnsafeMutableBytes { bytes in
            let content = UnsafeRawBufferPointer(
                rebasing: bytes[LogFrame.headerSize..<(LogFrame.headerSize + FrameCipher.overhead + 7)])
            LogFrame(
                .snapshot, content, at: LogPosition(segment: 7, offset: LogHeader.size), certain: 0,
                previous: header.checksum, isSealed: true
            ).write(to: bytes, at: 0)
        }
        #expect(changed.contents(under: header) == [])
    }

    @Test("C1: a plain frame in an encrypted file is damage, and so is an encrypted frame in a plain file")
    func mixed() throws {
        let keyring = try Keys.ring(3)
        let file = try File(["one"], keyring)
        var (plain, header) = (LogWriter(), file.header)
        let position = LogPosition(segment: 7, offset: LogHeader.size)
        _ = plain.frame(.changes, at: position, certain: 0, previous: header.checksum) { $0.put("evil") }
        var changed = file
        changed.bytes = plain.bytes
        #expect(changed.contents() == [])
        header.seal = nil
        #expect(file.contents(under: header) == [])
    }

    @Test("Q8: if the file's header is damaged, all frames except the snapshot can be read")
    func damagedHeader() throws {
        let keyring = try Keys.ring(3)
        let file = try File(["one", "two"], keyring)
        let opener = try #require(FrameOpener(nil, segment: 7, keyring))
        let found = file.bytes.withUnsafeBytes { bytes in
            var scan = LogScan(
                bytes, from: LogPosition(segment: 7, offset: LogHeader.size), behind: nil, opener: opener)
            return [scan.next(), scan.next()]
        }
        guard case .hole = found[0], case .frame = found[1] else {
            Issue.record("\(found)")
            return
        }
    }

    @Test("C1: frames can be opened only with their key, which has the right number and the right bytes")
    func wrongKey() throws {
        let file = try File(["one"], try Keys.ring(3))
        let seal = try #require(file.header.seal)
        #expect(FrameCipher(seal, try Keys.ring(4), segment: 7, header: nil) == nil)
        let other = try EncryptionKeys(Keys.line(4).replacing("4 ", with: "3 "))
        #expect(
            FrameCipher(seal, Keyring(other, encrypts: true), segment: 7, header: nil) == nil)
        #expect(FrameCipher(seal, try Keys.ring(4, 3), segment: 7, header: nil) != nil)
    }
}
