/// Makes ids of events: UUIDs of version 7 (RFC 9562), which sort by the time at which they were made.
///
/// Between the milliseconds and the random bits they hold a counter, so that ids of one maker sort in the order in which
/// they were made. They are unique, not secret.
public struct UUIDv7: Sendable {
    private var milliseconds: Int64 = 0
    private var counter: UInt16 = 0
    private var random: UInt64

    /// A maker with its own random bits.
    public init() {
        random = .random(in: 0...UInt64.max)
    }

    /// Writes the next id, in its usual 36 characters, to the beginning of `target`.
    public mutating func next(at now: Timestamp, into target: UnsafeMutableRawBufferPointer) {
        advance(to: now.milliseconds)
        let high = UInt64(bitPattern: milliseconds) << 16 | 0x7000 | UInt64(counter)
        let low = nextRandom() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        var place = 0
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                target[place] = UInt8(ascii: "-")
                place += 1
            }
            let word = digit < 16 ? high : low
            target[place] = UUIDv7.hexDigit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit & 15)) & 15))
            place += 1
        }
    }

    /// The next id, as a string.
    public mutating func next(at now: Timestamp) -> String {
        String(unsafeUninitializedCapacity: UUIDv7.length) { target in
            next(at: now, into: UnsafeMutableRawBufferPointer(target))
            return UUIDv7.length
        }
    }

    /// Characters of an id.
    public static let length = 36

    /// A clock that stands still or goes back makes the counter run, and the counter's overflow the next millisecond.
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

    /// SplitMix64: quick, and good enough for what only has to differ.
    private mutating func nextRandom() -> UInt64 {
        random &+= 0x9E37_79B9_7F4A_7C15
        var word = random
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }
}
