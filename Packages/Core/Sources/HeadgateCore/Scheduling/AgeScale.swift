import HeadgateData

/// The scale on which the ages of events are counted, in milliseconds (Behaviour P7). No jump of the wall clock moves it:
/// the monotonic clock carries it on, and the time that the machine sleeps, for which that clock stands still, is added.
///
/// It goes on over a restart: within one boot of the machine by the time since the boot, else by what the wall clock says
/// has passed since a pair of wall and stamp that was kept, never back. Only where nothing was kept does it begin as the
/// wall clock stands.
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
    public init(_ clocks: ClockReading, kept: ClockPair? = nil, newest: Int64? = nil) {
        let newest = newest.flatMap { AgeScale.possible.contains($0) ? $0 : nil }
        let present = max(kept?.stamp(at: clocks) ?? clocks.wall.milliseconds, newest ?? .min)
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

/// What the clocks said when the age scale stood at a stamp: kept in the store now and then, so that the scale goes on
/// over a restart (Behaviour P7).
public struct ClockPair: Sendable, Equatable {
    public var stamp: Int64
    public var wall: Timestamp
    /// Milliseconds since the machine's boot, sleep included.
    public var sinceBoot: Int64
    /// Which boot that was; empty where it was not known.
    public var boot: String

    /// Under which name the store keeps it.
    static let name = "clock"

    public init(stamp: Int64, _ clocks: ClockReading) {
        self.stamp = stamp
        wall = clocks.wall
        sinceBoot = clocks.sinceBoot
        boot = clocks.boot
    }

    /// Where the scale stands by now, at a later start.
    func stamp(at clocks: ClockReading) -> Int64 {
        guard !boot.isEmpty, boot == clocks.boot, clocks.sinceBoot >= sinceBoot else {
            return stamp + max(0, clocks.wall.milliseconds - wall.milliseconds)
        }
        return stamp + clocks.sinceBoot - sinceBoot
    }

    /// Whether the wall clock has jumped from one to the other.
    func isApart(from other: ClockPair) -> Bool {
        abs((wall.milliseconds - stamp) - (other.wall.milliseconds - other.stamp)) >= ClockPair.leastJump
    }

    private static let leastJump: Int64 = 1_000

    // MARK: As it is kept

    private static let form: UInt8 = 1

    /// The form (1), stamp, wall time and time since the boot (8 bytes each, little-endian), and the boot's name.
    var kept: [UInt8] {
        [ClockPair.form] + LittleEndian.bytes(stamp) + LittleEndian.bytes(wall.milliseconds)
            + LittleEndian.bytes(sinceBoot) + boot.utf8
    }

    /// One that was kept; nil when the bytes are none, or of a form that is not known.
    init?(kept bytes: [UInt8]) {
        guard bytes.count >= 25, bytes[0] == ClockPair.form else { return nil }
        let numbers = bytes.withUnsafeBytes { bytes in
            [1, 9, 17].map { LittleEndian.load(bytes, at: $0, as: Int64.self) }
        }
        guard numbers.allSatisfy(AgeScale.possible.contains) else { return nil }
        stamp = numbers[0]
        wall = Timestamp(milliseconds: numbers[1])
        sinceBoot = numbers[2]
        boot = String(decoding: bytes[25...], as: UTF8.self)
    }
}
