import HeadgateCore

/// The outcomes of a batch's events so far. Nearly all events are delivered, so only other outcomes are stored one by
/// one. A pure value.
struct BatchOutcomes {
    private var isKnown: [Bool]
    /// The outcomes that are no deliveries, by the events' indices.
    private var others: [Int: EventOutcome] = [:]
    /// The number of events without an outcome.
    private(set) var open: Int

    init(of events: Int) {
        isKnown = Array(repeating: false, count: events)
        open = events
    }

    /// Returns true if the batch has an event at this index, and the event has no outcome.
    func lacks(_ event: Int) -> Bool {
        isKnown.indices.contains(event) && !isKnown[event]
    }

    /// Records the outcome of an event that has none.
    mutating func note(_ outcome: EventOutcome, of event: Int) {
        isKnown[event] = true
        open -= 1
        if outcome != .delivered { others[event] = outcome }
    }

    /// Returns the result of the batch. Events without an outcome are sent again.
    /// - Parameter cause: the reason why events have no outcome.
    func result(cause: String = "") -> SendResult {
        if open == 0, others.isEmpty { return .delivered }
        let again = EventOutcome.retry(cause: cause, charged: false)
        return SendResult(isKnown.indices.map { isKnown[$0] ? others[$0, default: .delivered] : again })
    }
}

extension SendResult {
    /// Makes the result of a batch from the outcomes of its events. Equal outcomes become one result for the batch.
    init(_ outcomes: [EventOutcome]) {
        let isSame = outcomes.allSatisfy { $0 == outcomes.first }
        switch outcomes.first {
        case .delivered where isSame: self = .delivered
        case .retry(let cause, charged: false) where isSame: self = .noAnswer(cause: cause)
        default: self = .each(outcomes)
        }
    }
}
