/// How long a dispatcher's events took, and how many went together (Behaviour O1). Kept since the dispatcher was made.
public struct DispatcherMeasures: Sendable, Equatable {
    /// From an event's receipt to its delivery.
    public private(set) var delivery = Histogram(.seconds)
    /// The events of each batch that was sent.
    public private(set) var batches = Histogram(.events)
    private var attempts = [Histogram](repeating: Histogram(.seconds), count: AttemptOutcome.allCases.count)

    init() {}

    /// How long attempts took that came to this.
    public func attempts(_ outcome: AttemptOutcome) -> Histogram { attempts[outcome.rawValue] }

    /// A batch is sent.
    mutating func sent(events: Int) { batches.record(Int64(events)) }

    /// An attempt has come to its end.
    mutating func answered(_ outcome: AttemptOutcome, after time: Duration) {
        attempts[outcome.rawValue].record(time)
    }

    /// Events are delivered. Their ages are in whole milliseconds; less than one counts as one: nobody knows it better.
    /// - Parameter stamp: the present, on the age scale.
    mutating func delivered(_ events: [SettledEvent], at stamp: Int64) {
        // Many came at the same moment, and are recorded together.
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

/// What came of an attempt to send a batch, in the words that workers use for events.
public enum AttemptOutcome: Int, CounterList {
    /// The destination has all of it.
    case delivered
    /// Some of it goes again, at least.
    case retry
    /// Some of it was given up, and none goes again.
    case dead
    /// The daemon is being stopped, or what there was to send became too old on the way.
    case interrupted

    /// - Parameters:
    ///   - result: what the sender told.
    ///   - orders: what the dispatcher has to do because of it.
    init(_ result: SendResult, _ orders: [DeliveryOrder]) {
        switch result {
        case .delivered: self = .delivered
        case .interrupted: self = .interrupted
        case .refused, .noAnswer, .lost, .returned, .unsendable, .each:
            if orders.contains(where: \.isAgain) {
                self = .retry
            } else {
                self = orders.contains(where: \.isKeep) ? .dead : AttemptOutcome(withoutLosses: result)
            }
        }
    }

    /// A batch that is halved, or held, goes again; one of which each event was taken does not.
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
