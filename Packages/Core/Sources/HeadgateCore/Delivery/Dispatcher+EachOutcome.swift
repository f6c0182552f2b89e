/// Batches whose destination tells their events apart (Behaviour K3, K4).
extension Dispatcher {
    /// Carries out what came of each event. What was taken is settled though the rest was not; the rest waits, all
    /// together, so that a partial success skips no wait.
    func finished(_ batch: Batch, each outcomes: [EventOutcome]) {
        let parts = batch.parts(by: outcomes)
        for part in parts where part.outcome == .delivered { delivered(part.batch) }
        let failures = parts.filter { $0.outcome != .delivered }
        guard let first = failures.first else { return }
        tally.failed += 1
        lastError = first.outcome.cause
        for failure in failures { queue.takeBack(failure.batch.sequenceNumbers) }
        let causes = failures.compactMap { fail($0.batch, $0.outcome) }
        guard let cause = causes.first else { return }
        backOff(cause: cause, retryAfter: nil, isAnswered: outcomes.contains(where: \.isAnswer))
    }

    /// - Returns: why the events are to wait; nil when they are given up.
    private func fail(_ part: Batch, _ outcome: EventOutcome) -> String? {
        switch Verdict(outcome, isOversize: part.isOversize, settings: settings) {
        case .retry(let cause, let charged):
            sendAgain(part, charged: charged, LastAnswer(outcome))
            return cause
        case .dead(let reason):
            bury(part, reason, LastAnswer(outcome))
        case .delivered, .halve, .hold, .keep: break
        }
        return nil
    }
}

extension Batch {
    /// The events with the same outcome together, in the order of the first of each. One that nothing was said of goes
    /// again, as after no answer.
    fileprivate func parts(by outcomes: [EventOutcome]) -> [(outcome: EventOutcome, batch: Batch)] {
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
