import HeadgateData

/// The scale on which the ages of events are counted: wall time as it was when the daemon started, carried on by the
/// monotonic clock. A jump of the wall clock neither expires nor strands anything, and stamps stay comparable over a
/// restart (Behaviour P7).
public struct AgeScale: Sendable {
    /// Milliseconds of the scale at the monotonic clock's origin.
    private let origin: Int64

    public init(start: Instant, wall: Timestamp) {
        origin = wall.milliseconds - start.nanoseconds / 1_000_000
    }

    /// The stamp of a moment, in milliseconds.
    public func stamp(_ instant: Instant) -> Int64 {
        origin + instant.nanoseconds / 1_000_000
    }

    /// The moment that a stamp stands for. Stamps of an earlier run may lie before this one's start.
    public func instant(of stamp: Int64) -> Instant {
        let (scaled, overflow) = (stamp - origin).multipliedReportingOverflow(by: 1_000_000)
        guard overflow else { return Instant(nanoseconds: scaled) }
        return Instant(nanoseconds: stamp < origin ? .min : .max)
    }
}
