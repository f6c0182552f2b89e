/// Lays bytes one behind the other into room that was made for all of them: nothing is looked at but in debug builds. It is inlined
/// where it is used, so that text of the program becomes a few stores.
public struct ByteCursor {
    /// Where it lays them.
    public let room: UnsafeMutableRawBufferPointer
    @usableFromInline let start: UnsafeMutableRawPointer
    /// Where the next byte goes.
    @usableFromInline var next: UnsafeMutableRawPointer

    /// A cursor at the beginning of some room.
    @inlinable
    public init(_ room: UnsafeMutableRawBufferPointer) {
        self.room = room
        // Room for nothing may have no place; nothing is laid there.
        start = room.baseAddress ?? UnsafeMutableRawPointer(bitPattern: -1).unsafelyUnwrapped
        next = start
    }

    /// How many bytes it has laid.
    @inlinable public var offset: Int { next - start }

    /// Lays bytes as they are.
    @inlinable @inline(__always)
    public mutating func put(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        lay(source, bytes.count)
    }

    /// Lays JSON that a parser has accepted, with spaces in the place of line ends and tabs: what has a code below that of the
    /// space stands between tokens there, and nowhere else. It is one pass, as a plain copy is.
    @inlinable @inline(__always)
    public mutating func put(json: UnsafeRawBufferPointer) {
        guard let source = json.baseAddress else { return }
        let (count, place) = (json.count, next)
        skip(count)
        var offset = 0
        while offset &+ 8 <= count {
            let word = (source + offset).loadUnaligned(as: UInt64.self)
            (place + offset).storeBytes(of: ByteCursor.spaced(word), as: UInt64.self)
            offset &+= 8
        }
        while offset < count {
            (place + offset).storeBytes(of: max((source + offset).load(as: UInt8.self), 0x20), as: UInt8.self)
            offset &+= 1
        }
    }

    /// Eight bytes, with spaces for those with a code below that of the space. Without branches, so that the compiler takes
    /// several at once.
    @inlinable @inline(__always)
    static func spaced(_ word: UInt64) -> UInt64 {
        let (tops, sevens) = (word & 0xE0E0_E0E0_E0E0_E0E0, 0x7F7F_7F7F_7F7F_7F7F as UInt64)
        // The top bit of each byte that is below 0x20, and then all bits of it.
        let low = ~(((tops & sevens) &+ sevens) | tops) & ~sevens
        let whole = (low &<< 1) &- (low &>> 7)
        return (word & ~whole) | (low &>> 2)
    }

    /// Lays text of the program.
    @inlinable @inline(__always)
    public mutating func put(_ text: StaticString) {
        lay(text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Lays a number in decimal digits; one that is negative, which is nobody's, as 0.
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

    /// Eight digits at once, the first in the lowest byte, by which they are halved thrice: into fours, twos and ones.
    @inlinable @inline(__always)
    static func digits(_ number: UInt64) -> UInt64 {
        let fours = (number / 10_000) | ((number % 10_000) << 32)
        let hundreds = ((fours &* 10_486) >> 20) & 0x0000_007F_0000_007F
        let twos = hundreds | ((fours &- hundreds &* 100) << 16)
        let tens = ((twos &* 103) >> 10) & 0x000F_000F_000F_000F
        return tens | ((twos &- tens &* 10) << 8)
    }

    /// Lays the characters of up to eight digits.
    @inlinable @inline(__always)
    mutating func put(_ digits: UInt64, count: Int) {
        let characters = (digits | 0x3030_3030_3030_3030).littleEndian
        guard room.count &- offset >= 8 else {
            return withUnsafeBytes(of: characters) { put(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        next.storeBytes(of: characters, as: UInt64.self)
        skip(count)
    }

    @inlinable @inline(__always)
    mutating func lay(_ source: UnsafeRawPointer, _ count: Int) {
        let place = next
        skip(count)
        place.copyMemory(from: source, byteCount: count)
    }

    /// Passes over room, which is written later.
    @inlinable @inline(__always)
    public mutating func skip(_ count: Int) {
        next += count
        assert(offset <= room.count)
    }
}

extension Int64 {
    /// How many decimal digits ``ByteCursor`` lays of it.
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
    /// Appends what is laid into room for so many bytes at most.
    @inlinable @inline(__always)
    public mutating func lay(most count: Int, _ body: (inout ByteCursor) -> Void) {
        append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { room, laid in
                var cursor = ByteCursor(UnsafeMutableRawBufferPointer(room))
                body(&cursor)
                laid = cursor.offset
            }
        }
    }
}
