/// A moment, to the millisecond, in UTC. On the wire it is RFC 3339 with three digits of fraction.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Milliseconds since the beginning of 1970 in UTC; leap seconds are not counted.
    public var milliseconds: Int64

    /// The moment so many milliseconds after the beginning of 1970 in UTC.
    @inlinable
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// The first and the last moment that RFC 3339 can tell, in the years 0000 and 9999.
    public static let expressible =
        Timestamp(milliseconds: -62_167_219_200_000)...Timestamp(milliseconds: 253_402_300_799_999)

    static let millisecondsPerDay: Int64 = 86_400_000
}
