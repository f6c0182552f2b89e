import HeadgateData

/// What stands in front of each piece of a log: what it is, how long, and how one can tell that it is whole, in its place, and the one
/// behind the one before.
///
/// A file of the log is used again and again. A frame's checksum therefore begins with the number of its segment and its place
/// there: what is left of an earlier use, or was written to the wrong place, is no frame.
struct LogFrame: Equatable {
    enum Kind: UInt32 {
        /// Changes to what is kept beside the events.
        case changes = 2
        /// All that is kept beside the events, as it was when the segment was begun.
        case snapshot = 3
        /// What the segment holds; nothing comes behind it.
        case summary = 4
        /// The daemon stopped in order; whatever comes next is written over it.
        case closed = 5
        /// Here a start goes on. All before it was on the disk when the frame was written, or when the header was that the start has written, if not
        /// the header itself.
        case foundation = 7
        /// Events that were committed together, in pieces that may be packed.
        case group = 8
        /// Ids of clients, in a piece that may be packed.
        case ids = 9
    }

    var kind: Kind
    /// Bytes of what it holds.
    var length: Int
    /// So many bytes of the segment were beyond doubt on the disk when the frame was written.
    var certain: Int
    /// The checksum of the frame before; the segment's own for the first.
    var previous: UInt64
    /// The checksum of what it holds.
    var content: UInt64
    /// Of all of the above, and of where the frame lies.
    var checksum: UInt64

    static let headerSize = 48

    /// Bytes from its beginning to that of the next.
    var size: Int { LogFrame.size(of: length) }

    static func size(of length: Int) -> Int { headerSize + (length + 7) & ~7 }

    /// The frame of some bytes at a place.
    init(
        _ kind: Kind, _ bytes: UnsafeRawBufferPointer, at place: LogPlace, certain: Int, previous: UInt64
    ) {
        (self.kind, length, self.certain, self.previous) = (kind, bytes.count, certain, previous)
        content = LogFormat.checksum(of: bytes)
        checksum = 0
        checksum = checksum(at: place)
    }

    /// Reads the header that lies at the beginning of some bytes; nil where it is none, or not one of this place.
    init?(_ bytes: UnsafeRawBufferPointer, at place: LogPlace) {
        guard bytes.count >= LogFrame.headerSize,
            LittleEndian.load(bytes, at: 0, as: UInt32.self) == LogFormat.mark,
            let kind = Kind(rawValue: LittleEndian.load(bytes, at: 4, as: UInt32.self))
        else { return nil }
        self.kind = kind
        let (length, certain) = (
            LittleEndian.load(bytes, at: 8, as: UInt64.self), LittleEndian.load(bytes, at: 16, as: UInt64.self)
        )
        guard length < 1 << 40, certain < 1 << 40 else { return nil }
        (self.length, self.certain) = (Int(length), Int(certain))
        previous = LittleEndian.load(bytes, at: 24, as: UInt64.self)
        content = LittleEndian.load(bytes, at: 32, as: UInt64.self)
        checksum = LittleEndian.load(bytes, at: 40, as: UInt64.self)
        guard checksum(at: place) == checksum else { return nil }
    }

    /// Whether some bytes are what the frame was written with.
    func isSound(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == length && LogFormat.checksum(of: bytes) == content
    }

    func write(to bytes: UnsafeMutableRawBufferPointer, at offset: Int) {
        LittleEndian.store(LogFormat.mark, in: bytes, at: offset)
        LittleEndian.store(kind.rawValue, in: bytes, at: offset + 4)
        LittleEndian.store(UInt64(length), in: bytes, at: offset + 8)
        LittleEndian.store(UInt64(certain), in: bytes, at: offset + 16)
        LittleEndian.store(previous, in: bytes, at: offset + 24)
        LittleEndian.store(content, in: bytes, at: offset + 32)
        LittleEndian.store(checksum, in: bytes, at: offset + 40)
    }

    private func checksum(at place: LogPlace) -> UInt64 {
        var sum = Checksum(place.segment)
        for number in [
            UInt64(place.offset), UInt64(kind.rawValue), UInt64(length), UInt64(certain), previous, content,
        ] { sum.add(number) }
        return sum.value
    }
}

/// Where something lies in the log.
struct LogPlace: Hashable {
    /// The segment's number.
    var segment: UInt64
    var offset: Int
}

/// What stands at the beginning of each file of the log.
struct LogHeader: Equatable {
    /// What a file is used for.
    enum Use: UInt32 {
        /// Frames as they come.
        case front = 1
        /// What of other segments is still needed.
        case copy = 2
        /// Ids of clients.
        case ids = 3
    }

    var use: Use
    /// Segments have ascending numbers, of which none is given twice.
    var number: UInt64
    /// The segment that it goes on from, and where that one ends: what lies behind is void. 0 where there is none.
    var previous: UInt64
    var previousEnd: Int

    static let size = 64
    private static let magic = Array("hgatelog".utf8)

    var checksum: UInt64 {
        var sum = Checksum(number)
        for number in [UInt64(use.rawValue), previous, UInt64(previousEnd)] { sum.add(number) }
        return sum.value
    }

    var bytes: [UInt8] {
        var writer = LogWriter()
        writer.putRest(LogHeader.magic)
        writer.put(LogFormat.version)
        writer.put(use.rawValue)
        for number in [number, previous, UInt64(previousEnd), 0, 0, checksum] { writer.put(number) }
        return writer.bytes
    }

    /// What a file's first bytes say.
    enum Reading: Equatable {
        case header(LogHeader)
        /// A daemon with another version of the format wrote it: it must not be touched.
        case foreign(UInt32)
        /// Nothing that was ever finished.
        case none
    }

    static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard bytes.count >= size, bytes.prefix(magic.count).elementsEqual(magic) else { return .none }
        let version = LittleEndian.load(bytes, at: 8, as: UInt32.self)
        guard version == LogFormat.version else { return version == 0 ? .none : .foreign(version) }
        guard let use = Use(rawValue: LittleEndian.load(bytes, at: 12, as: UInt32.self)) else { return .none }
        let numbers = [16, 24, 32].map { LittleEndian.load(bytes, at: $0, as: UInt64.self) }
        guard numbers[2] < 1 << 40 else { return .none }
        let header = LogHeader(use: use, number: numbers[0], previous: numbers[1], previousEnd: Int(numbers[2]))
        let isSound = LittleEndian.load(bytes, at: 56, as: UInt64.self) == header.checksum
        return isSound ? .header(header) : .none
    }
}
