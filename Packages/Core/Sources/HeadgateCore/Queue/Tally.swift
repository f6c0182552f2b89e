/// A number of events and the size of their stored JSON in bytes.
public struct Tally: Sendable, Hashable {
    public var events: Int
    public var bytes: Int

    public static let zero = Tally(events: 0, bytes: 0)

    public init(events: Int, bytes: Int) {
        self.events = events
        self.bytes = bytes
    }

    public static func + (left: Tally, right: Tally) -> Tally {
        Tally(events: left.events + right.events, bytes: left.bytes + right.bytes)
    }

    public static func - (left: Tally, right: Tally) -> Tally {
        Tally(events: left.events - right.events, bytes: left.bytes - right.bytes)
    }

    public static func += (left: inout Tally, right: Tally) { left = left + right }
    public static func -= (left: inout Tally, right: Tally) { left = left - right }
}
