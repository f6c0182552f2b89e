/// What came of one event of a batch, where the destination tells its events apart (Behaviour K3, K4).
public enum EventOutcome: Sendable, Hashable {
    /// The destination has it.
    case delivered
    /// It is to be sent again. `cause` is in a few words for people, like `timed out`. `charged`: the destination
    /// answered, so the attempt counts (Behaviour D9).
    case retry(cause: String, charged: Bool)
    /// The destination will never take it. `cause` is in a few words for people, secrets blanked (Behaviour X4).
    case dead(DeadLetter.Reason, cause: String)
}

extension EventOutcome {
    /// Whether the destination said something of the event.
    var isAnswer: Bool {
        if case .retry(_, charged: false) = self { false } else { true }
    }

    /// Why the event was not taken.
    var cause: String? {
        switch self {
        case .delivered: nil
        case .retry(let cause, _), .dead(_, let cause): cause
        }
    }
}

extension Batch {
    /// The events with the same outcome together, in the order of the first of each. One that nothing was said of goes
    /// again, as after no answer.
    func parts(by outcomes: [EventOutcome]) -> [(outcome: EventOutcome, batch: Batch)] {
        var places: [EventOutcome: Int] = [:]
        var parts: [(outcome: EventOutcome, batch: Batch)] = []
        for (index, event) in events.enumerated() {
            let outcome = index < outcomes.count ? outcomes[index] : .retry(cause: "no outcome", charged: false)
            let place = places[outcome, default: parts.count]
            if place == parts.count {
                places[outcome] = place
                var part = self
                part.events = []
                parts.append((outcome, part))
            }
            parts[place].batch.events.append(event)
        }
        return parts
    }
}
