/// The bounds of dead letters (Behaviour D10).
public struct LetterBounds: Sendable, Equatable {
    /// The most letters that are kept.
    public var count: Int
    /// The most bytes of their events.
    public var bytes: Int

    public init(count: Int = 10_000, bytes: Int = 64 << 20) {
        (self.count, self.bytes) = (count, bytes)
    }

    /// Returns true if so many letters are more than the bounds allow.
    public func isExceeded(by letters: Tally) -> Bool {
        letters.events > count || letters.bytes > bytes
    }

    /// The part of the bounds that is used, from 0 to 1; more if they were lowered.
    public func used(by letters: Tally) -> Double {
        max(Double(letters.events) / Double(max(count, 1)), Double(letters.bytes) / Double(max(bytes, 1)))
    }
}

/// What happens to an event that dies when the dead letters are at their bounds (Behaviour D10).
public enum DeadLettersFull: String, CaseIterable, Sendable {
    /// The event stays in the queue, and a barrier holds its dispatcher until there is room.
    case hold
    /// The oldest dead letters are dropped.
    case dropOldest = "drop_oldest"
}

/// The room that is left for dead letters at one moment.
struct LetterRoom: Equatable {
    private var count: Int
    private var bytes: Int
    /// True if there is no letter yet: a single one may be larger than the bounds.
    private var isShelfEmpty: Bool

    /// Room without bounds.
    static let unlimited = LetterRoom(LetterBounds(count: .max, bytes: .max), beside: .zero)

    /// - Parameter used: the letters that there are.
    init(_ bounds: LetterBounds, beside used: Tally) {
        (count, bytes) = (bounds.count - used.events, bounds.bytes - used.bytes)
        isShelfEmpty = used.events == 0
    }

    /// Returns true if a letter of so many bytes has room.
    func fits(_ size: Int) -> Bool {
        count > 0 && (size <= bytes || isShelfEmpty)
    }

    /// Takes the room of a letter. Returns false, and takes nothing, if there is none.
    mutating func take(_ size: Int) -> Bool {
        guard fits(size) else { return false }
        (count, bytes, isShelfEmpty) = (count - 1, bytes - size, false)
        return true
    }
}
