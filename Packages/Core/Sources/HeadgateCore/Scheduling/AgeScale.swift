import HeadgateData

/// The time scale for the ages of events, in milliseconds (Behaviour P7). A jump of the wall clock does not affect it:
/// it follows the monotonic clock, plus the time for which the machine sleeps, which that clock does not count.
///
/// The scale continues across a restart. Within one boot of the machine it advances by the time since the boot. Across
/// boots it advances by the wall time since the newest stored wall time, and never goes back. A wall clock that counts
/// as not set adds nothing (``WallTrust``). Without a stored time the scale begins at the wall time.
public struct AgeScale: Sendable {
    /// The stamp at the origin of the monotonic clock.
    private var origin: Int64
    /// The time for which the machine has slept since its boot, as last read.
    private var suspended: Int64

    /// The shortest difference between two clocks that counts as sleep of the machine, in milliseconds. Shorter ones
    /// arise because the clocks are read one after the other.
    private static let shortestSleep: Int64 = 10

    /// - Parameters:
    ///   - clocks: the present reading of all clocks.
    ///   - kept: the last saved pair; nil if there is none.
    ///   - newest: the newest stamp in use; the scale does not begin before it.
    ///   - builtAt: the time at which the program was built, or an earlier time. Earlier wall times count as not set.
    public init(
        _ clocks: ClockReading, kept: ClockPair? = nil, newest: Int64? = nil, builtAt: Timestamp = .unknownBuild
    ) {
        let newest = newest.flatMap { AgeScale.possible.contains($0) ? $0 : nil }
        let present = max(kept?.stamp(at: clocks, builtAt: builtAt) ?? clocks.wall.milliseconds, newest ?? .min)
        origin = present - clocks.now.nanoseconds / 1_000_000
        suspended = AgeScale.suspended(now: clocks.now, sinceBoot: clocks.sinceBoot)
    }

    /// The range of valid stamps, ±285 000 years. A number outside of it was never a stamp.
    static let possible = -(Int64(1) << 53)...(Int64(1) << 53)

    /// Updates the time for which the machine has slept.
    mutating func advance(now: Instant, sinceBoot: Int64) {
        let suspended = AgeScale.suspended(now: now, sinceBoot: sinceBoot)
        guard suspended - self.suspended >= AgeScale.shortestSleep else { return }
        origin += suspended - self.suspended
        self.suspended = suspended
    }

    /// Returns the time for which the machine has slept since its boot, plus a constant.
    private static func suspended(now: Instant, sinceBoot: Int64) -> Int64 {
        sinceBoot - now.nanoseconds / 1_000_000
    }

    /// Returns the stamp of a moment, in milliseconds.
    public func stamp(_ instant: Instant) -> Int64 {
        origin + instant.nanoseconds / 1_000_000
    }

    /// Returns the moment of a stamp, if the machine does not sleep before. The stamps of an earlier run may be before
    /// the start of this one.
    public func instant(of stamp: Int64) -> Instant {
        let (scaled, overflow) = (stamp - origin).multipliedReportingOverflow(by: 1_000_000)
        guard overflow else { return Instant(nanoseconds: scaled) }
        return Instant(nanoseconds: stamp < origin ? .min : .max)
    }
}

/// A reading of all clocks at one moment.
public struct ClockReading: Sendable, Equatable {
    /// The monotonic time.
    public var now: Instant
    /// The wall time, which may be wrong.
    public var wall: Timestamp
    /// Milliseconds since the machine's boot, sleep included.
    public var sinceBoot: Int64
    /// The kernel's id of the present boot; empty if unknown.
    public var boot: String

    public init(now: Instant, wall: Timestamp, sinceBoot: Int64, boot: String) {
        self.now = now
        self.wall = wall
        self.sinceBoot = sinceBoot
        self.boot = boot
    }
}

/// The clocks at a stamp of the age scale. The store keeps one pair, so that the scale continues across a restart
/// (Behaviour P7).
public struct ClockPair: Sendable, Equatable {
    public var stamp: Int64
    /// Milliseconds since the machine's boot, sleep included.
    public var sinceBoot: Int64
    /// The kernel's id of the boot at that time; empty if unknown.
    public var boot: String
    /// The newest wall time that counted as set; nil if no wall time ever did.
    public var reference: WallReference?
    /// The newest wall time that was too far ahead to count as set; nil if a later one counted as set.
    public var doubt: WallReference?

    /// The name under which the store keeps the pair.
    static let name = "clock"

    public init(stamp: Int64, _ clocks: ClockReading, reference: WallReference?, doubt: WallReference? = nil) {
        (self.stamp, self.reference, self.doubt) = (stamp, reference, doubt)
        (sinceBoot, boot) = (clocks.sinceBoot, clocks.boot)
    }

    /// Returns the stamp of the age scale at a later start.
    func stamp(at clocks: ClockReading, builtAt: Timestamp) -> Int64 {
        if !boot.isEmpty, boot == clocks.boot, clocks.sinceBoot >= sinceBoot {
            return stamp + clocks.sinceBoot - sinceBoot
        }
        let trust = WallTrust(kept: self, boot: clocks.boot, builtAt: builtAt)
        guard let base = trust.base(of: clocks.wall) else { return stamp }
        return max(stamp, clocks.wall.milliseconds - base.distance)
    }

    /// Returns true if the wall clock was set between two pairs, or began or ceased to count as set.
    func isApart(from other: ClockPair) -> Bool {
        WallReference.areApart(reference, other.reference) || WallReference.areApart(doubt, other.doubt)
    }

    // MARK: Stored form

    private static let form: UInt8 = 2

    /// The saved bytes. The version of the form comes first (1 byte), then the stamp and the time since the boot (8 bytes
    /// each, little-endian). The next byte says which references follow: 1 the set one, 2 the doubt, 3 both. Each has its
    /// wall time and its stamp. The id of the boot comes last.
    var kept: [UInt8] {
        let parts = (reference == nil ? 0 : ClockPair.hasReference) | (doubt == nil ? 0 : ClockPair.hasDoubt)
        return [ClockPair.form] + LittleEndian.bytes(stamp) + LittleEndian.bytes(sinceBoot) + [parts]
            + [reference, doubt].compactMap { $0 }.flatMap {
                LittleEndian.bytes($0.wall.milliseconds) + LittleEndian.bytes($0.stamp)
            } + boot.utf8
    }

    private static let hasReference: UInt8 = 1
    private static let hasDoubt: UInt8 = 2
    /// The offset of the first reference.
    private static let head = 18

    /// Reads a saved pair; nil if the bytes are malformed or of an unknown version.
    init?(kept bytes: [UInt8]) {
        guard bytes.count >= ClockPair.head, bytes[0] == ClockPair.form, bytes[17] <= 3 else { return nil }
        let parts = [ClockPair.hasReference, ClockPair.hasDoubt].map { bytes[17] & $0 != 0 }
        let end = ClockPair.head + 16 * parts.count { $0 }
        guard bytes.count >= end else { return nil }
        let indexes = [1, 9] + stride(from: ClockPair.head, to: end, by: 8)
        let numbers = bytes.withUnsafeBytes { bytes in
            indexes.map { LittleEndian.load(bytes, at: $0, as: Int64.self) }
        }
        guard numbers.allSatisfy(AgeScale.possible.contains) else { return nil }
        (stamp, sinceBoot) = (numbers[0], numbers[1])
        var references = stride(from: 2, to: numbers.count, by: 2).map {
            WallReference(wall: Timestamp(milliseconds: numbers[$0]), stamp: numbers[$0 + 1])
        }[...]
        reference = parts[0] ? references.popFirst() : nil
        doubt = parts[1] ? references.popFirst() : nil
        boot = String(decoding: bytes[end...], as: UTF8.self)
    }
}

extension Timestamp {
    /// The build time to use if it is not known: no wall time is earlier.
    public static var unknownBuild: Timestamp { Timestamp(milliseconds: .min) }
}
