/// A cursor that writes bytes one after another into a buffer of known size. Bounds are checked in debug builds only.
///
/// Its functions are inlined at each call, so that writing a constant text becomes a few store instructions.
public struct ByteCursor {
    /// The buffer that the cursor writes to.
    public let room: UnsafeMutableRawBufferPointer
    @usableFromInline let start: UnsafeMutableRawPointer
    /// The address of the next byte to write.
    @usableFromInline var next: UnsafeMutableRawPointer

    /// Creates a cursor at the beginning of a buffer.
    @inlinable
    public init(_ room: UnsafeMutableRawBufferPointer) {
        self.room = room
        // An empty buffer may have no address. Nothing is ever written to this one.
        start = room.baseAddress ?? UnsafeMutableRawPointer(bitPattern: -1).unsafelyUnwrapped
        next = start
    }

    /// The number of bytes written so far.
    @inlinable public var offset: Int { next - start }

    /// Writes bytes unchanged.
    @inlinable @inline(__always)
    public mutating func put(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        copy(source, bytes.count)
    }

    /// Writes valid JSON and replaces line ends and tabs with spaces. In JSON that a parser has accepted, bytes below
    /// 0x20 occur between tokens only, and seldom at all.
    @inlinable @inline(__always)
    public mutating func put(json: UnsafeRawBufferPointer) {
        guard let source = json.baseAddress else { return }
        guard ByteCursor.hasLineEndOrTab(source, json.count) else { return copy(source, json.count) }
        putSpaced(json)
    }

    /// Returns true if a byte is below 0x20. The loop over words has no branches, so that the compiler can vectorize it.
    @inlinable @inline(__always)
    static func hasLineEndOrTab(_ bytes: UnsafeRawPointer, _ count: Int) -> Bool {
        guard count >= 8 else { return UnsafeRawBufferPointer(start: bytes, count: count).contains { $0 < 0x20 } }
        // The last word overlaps the one before it.
        var found = marks(in: (bytes + (count &- 8)).loadUnaligned(as: UInt64.self))
        for index in 0..<count / 8 { found |= marks(in: (bytes + index &* 8).loadUnaligned(as: UInt64.self)) }
        return found & 0x8080_8080_8080_8080 != 0
    }

    /// Returns a word with the top bit of a byte set if that byte, or a lower one, is below 0x20. Other bits mean nothing.
    @inlinable @inline(__always)
    static func marks(in word: UInt64) -> UInt64 { (word &- 0x2020_2020_2020_2020) & ~word }

    @usableFromInline
    mutating func putSpaced(_ json: UnsafeRawBufferPointer) {
        for byte in json {
            next.storeBytes(of: max(byte, 0x20), as: UInt8.self)
            skip(1)
        }
    }

    /// Writes a constant text.
    @inlinable @inline(__always)
    public mutating func put(_ text: StaticString) {
        copy(text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Writes a number in decimal digits. A negative number is written as 0.
    @inlinable
    public mutating func put(_ number: Int64) {
        var rest = UInt64(clamping: number)
        if rest >= 100_000_000 {
            put(Int64(rest / 100_000_000))
            rest %= 100_000_000
            return put(ByteCursor.digits(rest), count: 8)
        }
        let digits = ByteCursor.digits(rest)
        let zeros = min(digits.trailingZeroBitCount, 56) & ~7
        put(digits &>> UInt64(truncatingIfNeeded: zeros), count: 8 &- zeros &>> 3)
    }

    /// Returns eight decimal digits of a number, the first digit in the lowest byte. Three divisions split the number
    /// into groups of four, two and one digits.
    @inlinable @inline(__always)
    static func digits(_ number: UInt64) -> UInt64 {
        let fours = (number / 10_000) | ((number % 10_000) << 32)
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let twos = hundreds | ((fours &- hundreds &* 100) << 16)
        let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
        return tens | ((twos &- tens &* 10) << 8)
    }

    /// Writes up to eight digits as ASCII characters.
    @inlinable @inline(__always)
    mutating func put(_ digits: UInt64, count: Int) {
        let characters = (digits | 0x3030_3030_3030_3030).littleEndian
        guard room.count &- offset >= 8 else {
            return withUnsafeBytes(of: characters) { put(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        next.storeBytes(of: characters, as: UInt64.self)
        skip(count)
    }

    /// Writes `count` bytes from another memory.
    @inlinable @inline(__always)
    mutating func copy(_ source: UnsafeRawPointer, _ count: Int) {
        let target = next
        skip(count)
        target.copyMemory(from: source, byteCount: count)
    }

    /// Skips bytes that the caller writes later.
    @inlinable @inline(__always)
    public mutating func skip(_ count: Int) {
        next += count
        assert(offset <= room.count)
    }
}

extension Int64 {
    /// The number of decimal digits that ``ByteCursor`` writes for this number.
    @inlinable public var digitCount: Int {
        var (count, rest) = (1, UInt64(clamping: self))
        while rest >= 10_000 {
            count &+= 4
            rest /= 10_000
        }
        return count &+ (rest >= 10 ? 1 : 0) &+ (rest >= 100 ? 1 : 0) &+ (rest >= 1_000 ? 1 : 0)
    }
}

extension [UInt8] {
    /// Appends the bytes that `body` writes through a cursor.
    /// - Parameter count: the most bytes that `body` may write.
    @inlinable @inline(__always)
    public mutating func append(most count: Int, _ body: (inout ByteCursor) -> Void) {
        append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { room, written in
                var cursor = ByteCursor(UnsafeMutableRawBufferPointer(room))
                body(&cursor)
                written = cursor.offset
            }
        }
    }
}
