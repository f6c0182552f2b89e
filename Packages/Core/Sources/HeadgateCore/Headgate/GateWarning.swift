import HeadgateData

/// A condition of the gate that an operator should know of and can change (`status`, `warnings`).
public enum GateWarning: Sendable, Equatable {
    /// The wall clock is earlier than the program's build, or than the newest stored wall time (Behaviour P7).
    case wallClockNotSet(wall: Timestamp, before: Timestamp)
    /// The wall clock is further ahead of the newest stored wall time than is accepted after one boot (Behaviour P7).
    case wallClockFarAhead(wall: Timestamp, of: Timestamp)
    /// The store refused the newest events (Behaviour Q8).
    case storeRefuses(cause: String)
    /// Four fifths of the room for dead letters are in use (Behaviour D10).
    case deadLettersNearFull(Tally, DeadLetterLimits, DeadLettersFull)
}

extension GateWarning: CustomStringConvertible {
    public var description: String {
        switch self {
        case .wallClockNotSet(let wall, let before):
            "the wall clock shows \(wall.text), which is before \(before.text): the daemon treats it as not set, and events "
                + "do not age while the machine is off. Set the clock if it is wrong"
        case .wallClockFarAhead(let wall, let newest):
            "the wall clock shows \(wall.text), which is long after \(newest.text): the daemon treats it as not set until "
                + "the next boot confirms it, and events do not age while the machine is off. Set the clock if it is wrong"
        case .storeRefuses(let cause):
            "the event store refused the newest events: \(cause). The daemon tries again with each new event"
        case .deadLettersNearFull(let deadLetters, let bounds, let full):
            "the dead letters are near their limit: \(deadLetters.events) of \(bounds.count), \(deadLetters.bytes) of \(bounds.bytes) bytes; "
                + (full == .hold
                    ? "at the limit, they block the dispatcher of the next one"
                    : "above the limit, the oldest are deleted")
                + ". `headgate dead-letters` lists them, `headgate dead-letters requeue` and `headgate dead-letters purge` make room"
        }
    }
}

extension Headgate {
    /// The warnings that apply now.
    public var warnings: [GateWarning] {
        var warnings: [GateWarning] = []
        switch events.wallFault {
        case .before(let time): warnings.append(.wallClockNotSet(wall: scheduler.wall, before: time))
        case .farAfter(let time): warnings.append(.wallClockFarAhead(wall: scheduler.wall, of: time))
        case nil: break
        }
        if let fault = events.lastFault { warnings.append(.storeRefuses(cause: fault.message)) }
        if deadLetterTotals.bounds.used(by: deadLetterTotals.used) >= DeadLetterTotals.warningLevel {
            warnings.append(
                .deadLettersNearFull(deadLetterTotals.used, deadLetterTotals.bounds, events.limits.deadLettersFull))
        }
        return warnings
    }
}
