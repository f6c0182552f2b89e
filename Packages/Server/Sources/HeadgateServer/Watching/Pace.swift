import HeadgateCore

/// When a watch is told of a topic again. Watching must not cost in proportion to events: what changes often is told
/// together.
struct Pace {
    /// How soon a change is told.
    enum Urgency: Int, Comparable {
        /// Counters: at most every 50 ms.
        case counters
        /// States: at the end of their turn, at most every 5 ms.
        case states

        var spacing: Duration {
            switch self {
            case .counters: .milliseconds(50)
            case .states: .milliseconds(5)
            }
        }

        static func < (left: Urgency, right: Urgency) -> Bool { left.rawValue < right.rawValue }
    }

    /// When to look what is new; nil: nothing may have changed.
    private(set) var due: Instant?
    private var lastLook: Instant?

    /// Something may have changed.
    mutating func mark(_ urgency: Urgency, at now: Instant) {
        let soonest = lastLook.map { max(now, $0 + urgency.spacing) } ?? now
        due = min(due ?? soonest, soonest)
    }

    /// Whether to look now; then that counts as done.
    mutating func takeDue(at now: Instant) -> Bool {
        guard let due, due <= now else { return false }
        self.due = nil
        lastLook = now
        return true
    }
}
