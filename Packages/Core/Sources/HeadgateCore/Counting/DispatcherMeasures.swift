/// A dispatcher's histograms of delivery times, batch sizes and attempt durations, since the dispatcher was created
/// (Behaviour O1).
public struct DispatcherMeasures: Sendable, Equatable {
    /// The times from receipt to delivery.
    public private(set) var delivery = Histogram(.seconds)
    /// The numbers of events in sent batches.
    public private(set) var batches = Histogram(.events)
    private var attempts = [Histogram](repeating: Histogram(.seconds), count: AttemptOutcome.allCases.count)

    init() {}

    /// Returns the durations of attempts with an outcome.
    public func attempts(_ outcome: AttemptOutcome) -> Histogram { attempts[outcome.rawValue] }

    /// Records a batch that is sent.
    mutating func sent(events: Int) { batches.record(Int64(events)) }

    /// Records the end of an attempt.
    mutating func answered(_ outcome: AttemptOutcome, after time: Duration) {
        attempts[outcome.rawValue].record(time)
    }

    /// Records delivered events. Ages are in whole milliseconds; an age below one millisecond counts as one.
    /// - Parameter stamp: the present time on the age scale.
    mutating func delivered(_ events: [SettledEvent], at stamp: Int64) {
        // Events with the same time of receipt are recorded together.
        var (receipt, count) = (Int64.min, 0)
        for event in events {
            if event.receivedStamp != receipt, count > 0 {
                delivery.record(max(1, stamp - receipt) * 1_000_000, times: count)
                count = 0
            }
            receipt = event.receivedStamp
            count += 1
        }
        if count > 0 { delivery.record(max(1, stamp - receipt) * 1_000_000, times: count) }
    }
}

/// The outcome of an attempt to send a batch, in the words that workers use for events.
public enum AttemptOutcome: Int, CounterList {
    /// The destination accepted the whole batch.
    case delivered
    /// At least some of the events are sent again.
    case retry
    /// Some of the events were dead-lettered, and none is sent again.
    case dead
    /// The dispatcher was stopped, or all events of the batch became too old while they were in flight.
    case interrupted

    /// Derives the outcome of an attempt.
    /// - Parameters:
    ///   - result: the result from the sender.
    ///   - orders: the orders that follow from the result.
    init(_ result: SendResult, _ orders: [DeliveryOrder]) {
        switch result {
        case .delivered, .partlyRejected: self = .delivered
        case .interrupted: self = .interrupted
        case .refused, .noAnswer, .lost, .returned, .unsendable, .each:
            if orders.contains(where: \.isAgain) {
                self = .retry
            } else {
                self = orders.contains(where: \.isKeep) ? .dead : AttemptOutcome(withoutLosses: result)
            }
        }
    }

    /// Derives the outcome if no event was retried or dead-lettered. A batch that is halved or held is sent again,
    /// unless all its events were delivered.
    private init(withoutLosses result: SendResult) {
        guard case .each(let outcomes) = result else {
            self = .retry
            return
        }
        self = outcomes.isEmpty ? .interrupted : outcomes.allSatisfy(\.isDelivery) ? .delivered : .retry
    }
}

extension DeliveryOrder {
    fileprivate var isAgain: Bool {
        if case .countRetried(let count) = self { count > 0 } else { false }
    }

    fileprivate var isKeep: Bool {
        if case .keep = self { true } else { false }
    }
}
