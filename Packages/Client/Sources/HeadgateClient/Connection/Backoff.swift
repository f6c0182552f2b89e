/// Computes the wait before another attempt to connect. The wait doubles from a base up to a cap. A random part of at
/// most a half is subtracted, so that clients that lost the daemon at the same time do not return at the same time.
struct Backoff {
    let base: Duration
    let cap: Duration
    private var generator: SplitMix64

    init(base: Duration, cap: Duration, seed: UInt64) {
        self.base = base
        self.cap = cap
        generator = SplitMix64(state: seed)
    }

    /// Returns the wait in nanoseconds after this number of failures in a row.
    mutating func wait(afterFailures failures: Int) -> Int64 {
        let longest = min(cap, base * (1 << min(max(failures - 1, 0), 32))).nanoseconds
        return longest - Int64.random(in: 0...max(longest / 2, 0), using: &generator)
    }
}

/// Generates random numbers that a seed repeats (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators").
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

extension Duration {
    /// The duration in whole nanoseconds, at least 0 and at most about 146 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        guard seconds < 1 << 32 else { return 1 << 62 }
        return max(0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }

    /// The duration in whole milliseconds, rounded towards zero.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000)
        guard !isTooLong else { return seconds < 0 ? .min : .max }
        let (sum, isTooMuch) = whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return isTooMuch ? whole : sum
    }
}
