import HeadgateData

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
