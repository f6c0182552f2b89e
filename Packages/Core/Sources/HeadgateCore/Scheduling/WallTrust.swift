import HeadgateData

/// A wall time with the stamp of the age scale at that moment (Behaviour P7).
public struct WallReference: Sendable, Equatable {
    public var wall: Timestamp
    public var stamp: Int64

    public init(wall: Timestamp, stamp: Int64) {
        (self.wall, self.stamp) = (wall, stamp)
    }

    /// The difference between the wall clock and the age scale, in milliseconds.
    var distance: Int64 { wall.milliseconds - stamp }

    /// Returns true if a wall time is later than this one, and not so much later that the clock may be wrong.
    fileprivate func isShortlyBefore(_ wall: Timestamp) -> Bool {
        wall.milliseconds > self.wall.milliseconds
            && wall.milliseconds - self.wall.milliseconds <= WallTrust.furthest
    }

    /// Returns true if the wall clock was set between two references, or if only one of them exists.
    static func areApart(_ one: WallReference?, _ other: WallReference?) -> Bool {
        guard let one, let other else { return (one == nil) != (other == nil) }
        return abs(one.distance - other.distance) >= leastJump
    }

    private static let leastJump: Int64 = 1_000
}

/// The rule that decides which wall times count as set (Behaviour P7).
///
/// A board without a battery starts in 1970, or at some other time that means nothing, and a broken clock may be years
/// ahead. A wall time counts as set if it is not earlier than the program's build, and if it follows the newest stored
/// wall time within ``furthest``. A wall time further ahead is stored as a doubt. It counts as set if a later boot finds
/// the clock shortly behind that doubt: the machine was really without power for so long.
struct WallTrust: Sendable {
    /// The newest wall time that counted as set; nil if none did.
    private(set) var reference: WallReference?
    /// The newest wall time that was too far ahead; nil if a later one counted as set.
    private(set) var doubt: WallReference?
    /// The doubt of an earlier boot, which a wall time of this boot may confirm.
    private let former: WallReference?
    private let builtAt: Timestamp

    /// The longest time without power, in milliseconds, that one boot is believed: 400 days.
    static let furthest: Int64 = 400 * day
    /// The age of the program, in milliseconds, from which the wall time of a new store is doubted: five years.
    static let oldestProgram: Int64 = 5 * 365 * day
    private static let day: Int64 = 86_400_000
    /// The time in milliseconds by which the clock may be behind without a warning.
    private static let tolerance: Int64 = 60_000

    /// The reason why a wall time does not count as set.
    enum Fault: Equatable {
        /// The wall time is earlier than this time.
        case before(Timestamp)
        /// The wall time is too far ahead of this time.
        case farAfter(Timestamp)
    }

    /// - Parameters:
    ///   - kept: the last saved pair; nil if there is none.
    ///   - boot: the present boot.
    ///   - builtAt: the time at which the program was built, or an earlier time.
    init(kept: ClockPair?, boot: String, builtAt: Timestamp) {
        (reference, doubt, self.builtAt) = (kept?.reference, kept?.doubt, builtAt)
        former = kept?.boot == boot ? nil : kept?.doubt
    }

    /// Returns the stored wall time since which time has passed, or nil if `wall` does not count as set.
    func base(of wall: Timestamp) -> WallReference? {
        guard wall.milliseconds >= builtAt.milliseconds else { return nil }
        if let reference, reference.isShortlyBefore(wall) { return reference }
        if let former, former.isShortlyBefore(wall) { return former }
        return nil
    }

    /// Records the present wall time.
    mutating func note(_ wall: Timestamp, stamp: Int64) {
        let present = WallReference(wall: wall, stamp: stamp)
        if isFarAhead(wall) {
            doubt = present
        } else if isSet(wall) {
            (reference, doubt) = (present, nil)
        }
    }

    /// Returns the reason why a wall time does not count as set, or nil if it does, or is less than a minute behind.
    func fault(of wall: Timestamp) -> Fault? {
        let newest = Timestamp(milliseconds: max(builtAt.milliseconds, reference?.wall.milliseconds ?? .min))
        if isFarAhead(wall) { return .farAfter(newest) }
        guard wall.milliseconds < newest.milliseconds else { return nil }
        return newest.milliseconds - wall.milliseconds > WallTrust.tolerance ? .before(newest) : nil
    }

    private func isSet(_ wall: Timestamp) -> Bool {
        base(of: wall) != nil || reference == nil && wall.milliseconds >= builtAt.milliseconds
    }

    private func isFarAhead(_ wall: Timestamp) -> Bool {
        guard base(of: wall) == nil else { return false }
        if let reference { return wall.milliseconds > reference.wall.milliseconds + WallTrust.furthest }
        return builtAt != .unknownBuild && wall.milliseconds > builtAt.milliseconds + WallTrust.oldestProgram
    }
}
