/// A moment on the monotonic clock. The clock never jumps, and its values mean nothing outside this process (Behaviour
/// P7).
public struct Instant: Comparable, Hashable, Sendable {
    /// Nanoseconds since an arbitrary origin.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Returns the later moment. A result beyond the clock's range becomes its last moment.
    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Instant(nanoseconds: overflow ? .max : sum)
    }

    public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(left.nanoseconds - right.nanoseconds)
    }
}

extension Duration {
    /// The duration in nanoseconds, limited to the range of 64 bits (some 292 years).
    public var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard overflow || carried else { return sum }
        return seconds < 0 ? .min : .max
    }

    /// The duration in whole milliseconds, truncated.
    public var wholeMilliseconds: Int64 {
        wholeNanoseconds / 1_000_000
    }
}
