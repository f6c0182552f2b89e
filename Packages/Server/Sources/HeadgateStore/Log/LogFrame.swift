import HeadgateData
import HeadgateEncryption

/// The header of each frame of the log: its kind, its length, and the proof that it is whole, in its position, and
/// after the frame before it.
///
/// A file of the log is used many times. The checksum therefore begins with the segment's number and the frame's
/// offset: bytes of an earlier use, or bytes at a wrong offset, are no frame.
struct LogFrame: Equatable {
    enum Kind: UInt32 {
        /// Changes of the state.
        case changes = 2
        /// The whole state at the beginning of the segment.
        case snapshot = 3
        /// The index of the segment; no frame follows.
        case summary = 4
        /// The closing frame: the daemon stopped in order. The next frame overwrites it.
        case closed = 5
        /// The restart marker: a start continued here. Everything before it, except perhaps the header, was on the disk
        /// when this frame was written, or when the start wrote its new header. It may have the highest number that was
        /// given.
        case restartMarker = 7
        /// Events that were committed together, in pieces that may be packed.
        case group = 8
        /// Ids of clients, in a piece that may be packed.
        case ids = 9
    }

    var kind: Kind
    /// True if the content is encrypted (``FrameCipher``).
    var isSealed = false
    /// The bytes of the content, as it is stored.
    var length: Int
    /// The bytes of the segment that were certainly on the disk when the frame was written.
    var certain: Int
    /// The checksum of the frame before, or of the header.
    var previous: UInt64
    /// The checksum of the content.
    var content: UInt64
    /// The checksum of the fields above, and of the frame's position.
    var checksum: UInt64

    static let headerSize = 48

    /// The bytes from the beginning of the frame to that of the next.
    var size: Int { LogFrame.size(of: length) }

    static func size(of length: Int) -> Int { headerSize + (length + 7) & ~7 }

    /// Creates the frame of some content at a position.
    init(
        _ kind: Kind, _ bytes: UnsafeRawBufferPointer, at position: LogPosition, certain: Int, previous: UInt64,
        isSealed: Bool = false
    ) {
        self.init(unfinished: kind, bytes.count, certain: certain, previous: previous, isSealed: isSealed)
        content = LogFormat.checksum(of: bytes)
        checksum = checksum(at: position)
    }

    /// Creates a frame without checksums.
    init(unfinished kind: Kind, _ length: Int, certain: Int, previous: UInt64, isSealed: Bool) {
        (self.kind, self.length, self.certain, self.previous) = (kind, length, certain, previous)
        (self.isSealed, content, checksum) = (isSealed, 0, 0)
    }

    /// Reads a frame's header; nil if there is none, or if it was written for another position.
    init?(_ bytes: UnsafeRawBufferPointer, at position: LogPosition) {
        guard bytes.count >= LogFrame.headerSize,
            let isSealed = LogFrame.isSealed(mark: LittleEndian.load(bytes, at: 0, as: UInt32.self)),
            let kind = Kind(rawValue: LittleEndian.load(bytes, at: 4, as: UInt32.self))
        else { return nil }
        (self.kind, self.isSealed) = (kind, isSealed)
        let (length, certain) = (
            LittleEndian.load(bytes, at: 8, as: UInt64.self), LittleEndian.load(bytes, at: 16, as: UInt64.self)
        )
        guard length < 1 << 40, certain < 1 << 40 else { return nil }
        (self.length, self.certain) = (Int(length), Int(certain))
        previous = LittleEndian.load(bytes, at: 24, as: UInt64.self)
        content = LittleEndian.load(bytes, at: 32, as: UInt64.self)
        checksum = LittleEndian.load(bytes, at: 40, as: UInt64.self)
        guard checksum(at: position) == checksum else { return nil }
    }

    /// Returns true for the mark of an encrypted frame, and nil if there is no mark.
    private static func isSealed(mark: UInt32) -> Bool? {
        switch mark {
        case LogFormat.mark: false
        case LogFormat.sealedMark: true
        default: nil
        }
    }

    /// Returns true if the frame was written with this content, as it is stored.
    func isSound(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == length && LogFormat.checksum(of: bytes) == content
    }

    func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
        LittleEndian.store(isSealed ? LogFormat.sealedMark : LogFormat.mark, in: bytes, at: offset)
        LittleEndian.store(kind.rawValue, in: bytes, at: offset + 4)
        LittleEndian.store(UInt64(length), in: bytes, at: offset + 8)
        LittleEndian.store(UInt64(certain), in: bytes, at: offset + 16)
        LittleEndian.store(previous, in: bytes, at: offset + 24)
        LittleEndian.store(content, in: bytes, at: offset + 32)
        LittleEndian.store(checksum, in: bytes, at: offset + 40)
    }

    private func checksum(at position: LogPosition) -> UInt64 {
        var sum = Checksum(position.segment)
        let kind = UInt64(kind.rawValue) | (isSealed ? 1 << 32 : 0)
        for number in [UInt64(position.offset), kind, UInt64(length), UInt64(certain), previous, content] {
            sum.add(number)
        }
        return sum.value
    }
}

/// A position in the log.
struct LogPosition: Hashable {
    /// The segment's number.
    var segment: UInt64
    var offset: Int
}

extension LogPosition: Comparable, LogCodable {
    static func < (one: LogPosition, other: LogPosition) -> Bool {
        (one.segment, one.offset) < (other.segment, other.offset)
    }

    func write(to writer: inout LogWriter) {
        writer.put(segment)
        writer.put(offset)
    }

    init(from reader: inout LogReader) throws(LogReader.Unsound) {
        (segment, offset) = (try reader.take(), try reader.take())
    }
}

/// The header of each file of the log.
struct LogHeader: Equatable {
    /// The use of a file.
    enum Use: UInt32 {
        /// A segment in the order of writing.
        case active = 1
        /// A segment that has a copy of the needed parts of other segments.
        case copy = 2
        /// Ids of clients.
        case ids = 3
    }

    var use: Use
    /// The segment's number. Numbers ascend, and are never reused.
    var number: UInt64
    /// The segment before this one, and its end: bytes after that end are void. 0 if there is none.
    var previous: UInt64
    var previousEnd: Int
    /// The key of an encrypted file; nil if the file is not encrypted.
    var seal: Seal?

    static let size = 64
    private static let magic = Array("hgatelog".utf8)

    var checksum: UInt64 {
        var sum = Checksum(number)
        for number in [UInt64(use.rawValue), previous, UInt64(previousEnd)] { sum.add(number) }
        if let words = seal?.words { for word in [words.0, words.1] { sum.add(word) } }
        return sum.value
    }

    var bytes: [UInt8] {
        var writer = LogWriter()
        writer.putRest(LogHeader.magic)
        writer.put(seal == nil ? LogFormat.version : LogFormat.sealedVersion)
        writer.put(use.rawValue)
        let words = seal?.words ?? (0, 0)
        for number in [number, previous, UInt64(previousEnd), words.0, words.1, checksum] { writer.put(number) }
        return writer.bytes
    }

    /// The result of reading a file's first bytes.
    enum Reading: Equatable {
        case header(LogHeader)
        /// Another version of the format, which must not be touched.
        case foreign(UInt32)
        /// No header, or an unfinished one.
        case none
    }

    static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= size, bytes.prefix(magic.count).elementsEqual(magic) else { return .none }
        let version = LittleEndian.load(bytes, at: 8, as: UInt32.self)
        let isSealed = version == LogFormat.sealedVersion
        guard version == LogFormat.version || isSealed else { return version == 0 ? .none : .foreign(version) }
        let seal = isSealed ? Seal(UnsafeRawBufferPointer(rebasing: bytes[40..<56])) : nil
        guard isSealed == (seal != nil) else { return .none }
        guard let use = Use(rawValue: LittleEndian.load(bytes, at: 12, as: UInt32.self)) else { return .none }
        let numbers = [16, 24, 32].map { LittleEndian.load(bytes, at: $0, as: UInt64.self) }
        guard numbers[2] < 1 << 40 else { return .none }
        let header = LogHeader(
            use: use, number: numbers[0], previous: numbers[1], previousEnd: Int(numbers[2]), seal: seal)
        let isSound = LittleEndian.load(bytes, at: 56, as: UInt64.self) == header.checksum
        return isSound ? .header(header) : .none
    }
}
