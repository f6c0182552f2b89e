/// A generator of event ids: UUIDs of version 7 (RFC 9562), which sort by their time of creation.
///
/// A counter between the milliseconds and the random bits makes the ids of one generator sort in the order of their
/// creation. The ids are unique, not secret.
public struct UUIDv7: Sendable {
    private var milliseconds: Int64 = 0
    private var counter: UInt16 = 0
    private var random: UInt64

    /// Creates a generator with a random seed.
    public init() {
        random = .random(in: 0...UInt64.max)
    }

    /// Creates a generator with a given source of randomness.
    /// - Parameter chance: returns numbers from 0 to 1.
    public init(chance: () -> Double) {
        let halves = (0..<2).map { _ in UInt64(chance() * Double(UInt32.max)) }
        random = halves[0] << 32 | halves[1]
    }

    /// Writes the next id in its usual form of 36 characters to the beginning of `target`.
    public mutating func next(at now: Timestamp, into target: UnsafeMutableRawBufferPointer) {
        advance(to: now.milliseconds)
        let high = UInt64(bitPattern: milliseconds) << 16 | 0x7000 | UInt64(counter)
        let low = nextRandom() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        precondition(target.count >= UUIDv7.length)
        UUIDv7.write(high >> 32, at: 0, in: target)
        target[8] = UInt8(ascii: "-")
        UUIDv7.write(high, splitAt: 9, in: target)
        target[18] = UInt8(ascii: "-")
        UUIDv7.write(low >> 32, splitAt: 19, in: target)
        UUIDv7.write(low, at: 28, in: target)
    }

    /// Returns the next id in its usual form of 36 characters.
    public mutating func next(at now: Timestamp) -> String {
        String(unsafeUninitializedCapacity: UUIDv7.length) { target in
            next(at: now, into: UnsafeMutableRawBufferPointer(target))
            return UUIDv7.length
        }
    }

    /// The length of an id in characters.
    public static let length = 36

    /// Advances the time or the counter. If the clock stands still or goes back, the counter increases; if the counter
    /// overflows, the next millisecond begins.
    private mutating func advance(to now: Int64) {
        if now > milliseconds {
            milliseconds = now
            counter = UInt16(truncatingIfNeeded: nextRandom() & 0x3FF)
        } else if counter < 0xFFF {
            counter += 1
        } else {
            milliseconds += 1
            counter = 0
        }
    }

    /// Returns the next number of SplitMix64: fast, and random enough for ids that only have to differ.
    private mutating func nextRandom() -> UInt64 {
        random &+= 0x9E37_79B9_7F4A_7C15
        var word = random
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    /// Writes the eight hexadecimal digits of a word's lower half.
    private static func write(_ word: UInt64, at offset: Int, in target: UnsafeMutableRawBufferPointer) {
        LittleEndian.store(hexDigits(UInt32(truncatingIfNeeded: word)), in: target, at: offset)
    }

    /// Writes the eight hexadecimal digits of a word's lower half, with a hyphen after the fourth.
    private static func write(_ word: UInt64, splitAt offset: Int, in target: UnsafeMutableRawBufferPointer) {
        let digits = hexDigits(UInt32(truncatingIfNeeded: word))
        LittleEndian.store(UInt32(truncatingIfNeeded: digits), in: target, at: offset)
        target[offset + 4] = UInt8(ascii: "-")
        LittleEndian.store(UInt32(truncatingIfNeeded: digits >> 32), in: target, at: offset + 5)
    }

    /// Returns eight hexadecimal digits as ASCII characters, the first in the lowest byte. Each half of a byte is moved
    /// to its own byte and then turned into a character.
    private static func hexDigits(_ value: UInt32) -> UInt64 {
        var digits = UInt64(value.byteSwapped)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = digits >> 4 & 0x000F_000F_000F_000F | digits << 8 & 0x0F00_0F00_0F00_0F00
        let aboveNine = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ aboveNine &* 39
    }
}
