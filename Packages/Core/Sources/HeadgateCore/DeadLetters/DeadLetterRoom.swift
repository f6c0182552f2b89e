/// The limits of dead letters (Behaviour D10).
public struct DeadLetterLimits: Sendable, Equatable {
    /// The most dead letters.
    public var count: Int
    /// The most bytes of their events.
    public var bytes: Int

    public init(count: Int = 10_000, bytes: Int = 64 << 20) {
        (self.count, self.bytes) = (count, bytes)
    }

    /// Returns true if the dead letters exceed a limit.
    public func isExceeded(by deadLetters: Tally) -> Bool {
        deadLetters.events > count || deadLetters.bytes > bytes
    }

    /// Returns the used part of the limits, from 0 to 1. The result is more than 1 if the limits were lowered.
    public func used(by deadLetters: Tally) -> Double {
        max(Double(deadLetters.events) / Double(max(count, 1)), Double(deadLetters.bytes) / Double(max(bytes, 1)))
    }
}

/// The action for an event that would become a dead letter at the limit (Behaviour D10).
public enum DeadLettersFull: String, CaseIterable, Sendable {
    /// The event stays in the queue, and a barrier holds its dispatcher until there is room.
    case hold
    /// The oldest dead letters are dropped.
    case dropOldest = "drop_oldest"
}

/// The room that is left for dead letters.
struct DeadLetterRoom: Equatable {
    private var count: Int
    private var bytes: Int
    /// True if there are no dead letters: the first may be larger than the limit.
    private var isEmpty: Bool

    /// Room without limits.
    static let unlimited = DeadLetterRoom(DeadLetterLimits(count: .max, bytes: .max), beside: .zero)

    /// - Parameter used: the number and size of the existing dead letters.
    init(_ bounds: DeadLetterLimits, beside used: Tally) {
        (count, bytes) = (bounds.count - used.events, bounds.bytes - used.bytes)
        isEmpty = used.events == 0
    }

    /// Returns true if there is room for a dead letter of this size.
    func fits(_ size: Int) -> Bool {
        count > 0 && (size <= bytes || isEmpty)
    }

    /// Takes the room of a dead letter. Returns false, and takes nothing, if the dead letter does not fit.
    mutating func take(_ size: Int) -> Bool {
        guard fits(size) else { return false }
        (count, bytes, isEmpty) = (count - 1, bytes - size, false)
        return true
    }
}
