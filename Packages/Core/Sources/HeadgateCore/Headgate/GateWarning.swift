import HeadgateData

/// A condition of the gate that people should know of and can change (`status`, `warnings`).
public enum GateWarning: Sendable, Equatable {
    /// The wall clock is earlier than the program, or than the newest wall time that was stored (Behaviour P7).
    case wallClockNotSet(wall: Timestamp, before: Timestamp)
}

extension GateWarning: CustomStringConvertible {
    public var description: String {
        switch self {
        case .wallClockNotSet(let wall, let before):
            "the wall clock says \(wall.text), which is before \(before.text): it counts as not set, and time without power "
                + "does not count as age; set the clock"
        }
    }
}

extension Headgate {
    /// The conditions that people should know of now.
    public var warnings: [GateWarning] {
        var warnings: [GateWarning] = []
        if let before = events.wallIsBefore { warnings.append(.wallClockNotSet(wall: scheduler.wall, before: before)) }
        return warnings
    }
}
