import HeadgateData

/// The scale on which the ages of events are counted, in milliseconds (Behaviour P7). No jump of the wall clock moves it:
/// the monotonic clock carries it on, and the time that the machine sleeps, for which that clock stands still, is added.
///
/// The scale goes on across a restart: within one boot of the machine by the time since the boot, across boots by the time that
/// the wall clock says has passed since the newest wall time that was stored, never back. A wall clock that counts as not set adds
/// nothing (``WallReference``). Only where nothing was stored does the scale begin at the wall time.
public struct AgeScale: Sendable {
    /// The stamp of the monotonic clock's origin.
    private var origin: Int64
    /// How long the machine has slept since its boot, as far as the scale knows.
    private var asleep: Int64

    /// Below this it is the time between the readings of two clocks.
    private static let shortestSleep: Int64 = 10

    /// - Parameters:
    ///   - kept: what was kept last of the scale; nil when nothing was.
    ///   - newest: a stamp that was given out; the scale does not go back behind it.
    ///   - builtAt: when the program was built, or earlier: an earlier wall time counts as not set.
    public init(
        _ clocks: ClockReading, kept: ClockPair? = nil, newest: Int64? = nil, builtAt: Timestamp = .unknownBuild
    ) {
        let newest = newest.flatMap { AgeScale.possible.contains($0) ? $0 : nil }
        let present = max(kept?.stamp(at: clocks, builtAt: builtAt) ?? clocks.wall.milliseconds, newest ?? .min)
        origin = present - clocks.now.nanoseconds / 1_000_000
        asleep = AgeScale.asleep(now: clocks.now, sinceBoot: clocks.sinceBoot)
    }

    /// Some 285 000 years, which no clock is off: what is beyond was never a stamp.
    static let possible = -(Int64(1) << 53)...(Int64(1) << 53)

    /// Takes in how long the machine has slept by now.
    mutating func look(now: Instant, sinceBoot: Int64) {
        let asleep = AgeScale.asleep(now: now, sinceBoot: sinceBoot)
        guard asleep - self.asleep >= AgeScale.shortestSleep else { return }
        origin += asleep - self.asleep
        self.asleep = asleep
    }

    /// How long the machine has slept since its boot, give or take a constant.
    private static func asleep(now: Instant, sinceBoot: Int64) -> Int64 {
        sinceBoot - now.nanoseconds / 1_000_000
    }

    /// The stamp of a moment, in milliseconds.
    public func stamp(_ instant: Instant) -> Int64 {
        origin + instant.nanoseconds / 1_000_000
    }

    /// The moment that a stamp stands for, unless the machine sleeps before. Stamps of an earlier run may lie before this
    /// one's start.
    public func instant(of stamp: Int64) -> Instant {
        let (scaled, overflow) = (stamp - origin).multipliedReportingOverflow(by: 1_000_000)
        guard overflow else { return Instant(nanoseconds: scaled) }
        return Instant(nanoseconds: stamp < origin ? .min : .max)
    }
}

/// What all clocks say at one moment.
public struct ClockReading: Sendable, Equatable {
    /// Monotonic time.
    public var now: Instant
    /// Wall time, which may be wrong.
    public var wall: Timestamp
    /// Milliseconds since the machine's boot, sleep included.
    public var sinceBoot: Int64
    /// Which boot that was, as the kernel names it; empty where it is not known.
    public var boot: String

    public init(now: Instant, wall: Timestamp, sinceBoot: Int64, boot: String) {
        self.now = now
        self.wall = wall
        self.sinceBoot = sinceBoot
        self.boot = boot
    }
}

/// The newest wall time that counted as set, and the stamp of the age scale at that moment (Behaviour P7).
///
/// A wall time counts as set if it is later than the newest one that was stored, and not earlier than the build of the program.
/// A board without a battery starts in 1970, or at a time of its own: nothing can be concluded from such a clock.
public struct WallReference: Sendable, Equatable {
    public var wall: Timestamp
    public var stamp: Int64

    public init(wall: Timestamp, stamp: Int64) {
        (self.wall, self.stamp) = (wall, stamp)
    }

    /// Returns true if a wall time counts as set.
    /// - Parameter reference: the newest wall time that was stored; nil if none was.
    static func isSet(_ wall: Timestamp, after reference: WallReference?, builtAt: Timestamp) -> Bool {
        wall.milliseconds >= builtAt.milliseconds
            && reference.map { wall.milliseconds > $0.wall.milliseconds } ?? true
    }

    /// The difference between the wall clock and the age scale, in milliseconds.
    fileprivate var distance: Int64 { wall.milliseconds - stamp }
}

/// The state of the clocks when the age scale stood at a stamp. The store keeps one, so that the scale goes on across a restart
/// (Behaviour P7).
public struct ClockPair: Sendable, Equatable {
    public var stamp: Int64
    /// Milliseconds since the machine's boot, sleep included.
    public var sinceBoot: Int64
    /// Which boot that was; empty where it was not known.
    public var boot: String
    /// The newest wall time that counted as set; nil if no wall time ever did.
    public var reference: WallReference?

    /// Under which name the store keeps it.
    static let name = "clock"

    public init(stamp: Int64, _ clocks: ClockReading, reference: WallReference?) {
        (self.stamp, self.reference) = (stamp, reference)
        (sinceBoot, boot) = (clocks.sinceBoot, clocks.boot)
    }

    /// Returns the stamp of the age scale at a later start.
    func stamp(at clocks: ClockReading, builtAt: Timestamp) -> Int64 {
        if !boot.isEmpty, boot == clocks.boot, clocks.sinceBoot >= sinceBoot {
            return stamp + clocks.sinceBoot - sinceBoot
        }
        guard let reference, WallReference.isSet(clocks.wall, after: reference, builtAt: builtAt) else { return stamp }
        return max(stamp, clocks.wall.milliseconds - reference.distance)
    }

    /// Returns true if the wall clock was set between two pairs, or became trustworthy.
    func isApart(from other: ClockPair) -> Bool {
        guard let reference, let former = other.reference else { return (reference == nil) != (other.reference == nil) }
        return abs(reference.distance - former.distance) >= ClockPair.leastJump
    }

    private static let leastJump: Int64 = 1_000

    // MARK: As it is kept

    private static let form: UInt8 = 2

    /// The form (2), the stamp and the time since the boot (8 bytes each, little-endian), 1 and the reference's wall time and stamp
    /// or 0 if there is none, and the boot's name.
    var kept: [UInt8] {
        let reference = reference.map {
            [1] + LittleEndian.bytes($0.wall.milliseconds) + LittleEndian.bytes($0.stamp)
        }
        return [ClockPair.form] + LittleEndian.bytes(stamp) + LittleEndian.bytes(sinceBoot) + (reference ?? [0])
            + boot.utf8
    }

    /// Reads a pair that was kept. Returns nil if the bytes are none, or of an unknown form.
    init?(kept bytes: [UInt8]) {
        guard bytes.count >= 18, bytes[0] == ClockPair.form, bytes[17] <= 1 else { return nil }
        let hasReference = bytes[17] == 1
        guard !hasReference || bytes.count >= 34 else { return nil }
        let numbers = bytes.withUnsafeBytes { bytes in
            ([1, 9] + (hasReference ? [18, 26] : [])).map { LittleEndian.load(bytes, at: $0, as: Int64.self) }
        }
        guard numbers.allSatisfy(AgeScale.possible.contains) else { return nil }
        (stamp, sinceBoot) = (numbers[0], numbers[1])
        reference = hasReference ? WallReference(wall: Timestamp(milliseconds: numbers[2]), stamp: numbers[3]) : nil
        boot = String(decoding: bytes[(hasReference ? 34 : 18)...], as: UTF8.self)
    }
}

extension Timestamp {
    /// The build time of a program that does not tell it: no wall time is earlier.
    public static var unknownBuild: Timestamp { Timestamp(milliseconds: .min) }
}
