/// A list of counters. A new counter needs only a new case: its name follows from the case, and reports iterate over
/// the list.
public protocol CounterList: RawRepresentable<Int>, CaseIterable, Hashable, Sendable {}

extension CounterList {
    /// The counter's public name: the words of the case, joined by underscores.
    public var name: String {
        String(describing: self).reduce(into: "") { name, character in
            name += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
    }
}

/// The counts of a list of counters.
public struct Counters<List: CounterList>: Sendable, Equatable {
    @usableFromInline var counts = [Int](repeating: 0, count: List.allCases.count)

    /// Creates counters that are all zero.
    public init() {}

    /// - Parameter counts: the counts in the order of the list.
    init(_ counts: [Int]) {
        self.counts = counts
    }

    /// The count of one counter.
    public subscript(counter: List) -> Int { counts[counter.rawValue] }

    /// Adds to a counter.
    @inlinable
    public mutating func count(_ counter: List, _ times: Int = 1) {
        counts[counter.rawValue] += times
    }

    /// Returns the counts of some counters. The others are zero.
    public func only(_ isIncluded: (List) -> Bool) -> Counters {
        var some = self
        for counter in List.allCases where !isIncluded(counter) { some.counts[counter.rawValue] = 0 }
        return some
    }

    /// Returns the differences from earlier counts.
    public func since(_ earlier: Counters) -> Counters {
        var news = self
        for index in counts.indices { news.counts[index] -= earlier.counts[index] }
        return news
    }
}

/// The counters of the whole service. They count events, unless they say otherwise (Behaviour P1).
public enum EventCounter: Int, CounterList {
    /// Valid events from clients, whatever happened to them.
    case received
    /// Events that were already stored (Behaviour Q7).
    case duplicates
    /// Events that no dispatcher gets.
    case unrouted
    /// Received events that were refused because there was no room or the store failed.
    case rejected
    /// Delivered events. An event counts once for each dispatcher that delivered it; the same holds for the following
    /// counters.
    case delivered
    /// Retries of events.
    case retried
    /// Dead-lettered events (Behaviour D9).
    case dead
    /// Dead letters whose events were put into the queue again. Each will be counted as delivered, dead and so on
    /// another time.
    case requeued
    /// Dead letters that were dropped to make room for newer ones (Behaviour D10).
    case droppedLetters
    /// Events that were dropped because they were too old (Behaviour Q4).
    case expired
    /// Events that were evicted to make room for newer ones (Behaviour Q5).
    case evicted
    /// Events that an operator purged from a dispatcher's queue.
    case purged
    /// Dead letters that an operator deleted.
    case purgedLetters
    /// Events that a transformation dropped (Behaviour P4).
    case transformedAway
    /// Events and dead letters that an operator erased (Behaviour E1).
    case erased
    /// Events that a damaged store has lost (Behaviour Q8).
    case quarantined
    /// Errors of a program's own collectors.
    case collectorErrors
    /// Errors of barriers (Behaviour B9).
    case barrierErrors
    /// Errors of transformations.
    case transformationErrors
}

extension EventCounter {
    /// The description of the counter, for documents.
    public var meaning: String {
        switch self {
        case .received: "Valid events received from clients, whatever their outcome"
        case .duplicates: "Duplicate events, which were already stored"
        case .unrouted: "Events that no dispatcher accepted"
        case .rejected: "Events refused because the store was full or failed"
        case .delivered: "Events delivered, once for each dispatcher that delivered it"
        case .retried: "Events sent again, counted at each attempt"
        case .dead: "Dead-lettered events"
        case .requeued: "Requeued dead letters"
        case .droppedLetters: "Dead letters deleted to make room for newer ones"
        case .expired: "Expired events"
        case .evicted: "Events dropped to make room for newer ones"
        case .purged: "Events that an operator purged"
        case .purgedLetters: "Dead letters that an operator deleted"
        case .transformedAway: "Events that a transformation dropped"
        case .erased: "Events and dead letters that an operator erased"
        case .quarantined: "Events lost to damage in the store"
        case .collectorErrors: "Failures of the embedding program's collectors"
        case .barrierErrors: "Failures of barriers"
        case .transformationErrors: "Failures of transformations"
        }
    }
}

/// The counters of each dispatcher.
public enum DispatcherCounter: Int, CounterList {
    /// Events delivered.
    case sent
    /// Attempts that failed.
    case failed
    /// Retries of events.
    case retried
    /// Dead-lettered events (Behaviour D9).
    case dead
    /// Events that were dropped because they were too old (Behaviour Q4).
    case expired
    /// Events that were evicted to make room for newer ones (Behaviour Q5).
    case evicted
    /// Events that an operator purged.
    case purged
    /// Events that a transformation dropped (Behaviour P4).
    case transformedAway
    /// Events that an operator erased before they were delivered (Behaviour E1).
    case erased
    /// Events that the destination reported as duplicates at their first attempt (Behaviour K4).
    case duplicates
    /// Events that the destination rejected in a batch that it accepted (Behaviour K7).
    case partiallyRejected
    /// Rewinds (Behaviour R3).
    case rewinds

    /// The description of the counter, for documents.
    public var meaning: String {
        switch self {
        case .sent: "events delivered"
        case .failed: "attempts that failed"
        case .retried: "events sent again, counted at each attempt"
        case .dead: "dead-lettered events"
        case .expired: "expired events"
        case .evicted: "events dropped to make room for newer ones"
        case .purged: "events that an operator purged"
        case .transformedAway: "events that a transformation dropped"
        case .erased: "events that an operator erased"
        case .duplicates: "events delivered that the destination reported as duplicates at their first attempt"
        case .partiallyRejected: "events that the destination rejected in batches that it accepted"
        case .rewinds: "rewinds to an earlier event"
        }
    }

    /// The counter's name in the list of dispatchers; nil if it is not listed (Protocol, `dispatcher.list`).
    public var nameInList: String? {
        switch self {
        case .retried, .purged, .transformedAway, .erased, .duplicates, .partiallyRejected: nil
        default: name
        }
    }

    /// The counter's name among the outcomes; nil if it is not an outcome (Protocol, `watch`).
    public var nameAsOutcome: String? {
        switch self {
        case .sent: "delivered"
        case .failed, .purged, .transformedAway, .erased, .duplicates, .partiallyRejected, .rewinds: nil
        default: name
        }
    }
}

extension DeliveryOutcome {
    /// The service's counter for this outcome.
    var counter: EventCounter {
        switch self {
        case .delivered: .delivered
        case .dead: .dead
        case .expired: .expired
        case .evicted: .evicted
        case .purged: .purged
        case .transformedAway: .transformedAway
        case .erased: .erased
        }
    }

    /// The dispatcher's counter for this outcome.
    var dispatcherCounter: DispatcherCounter {
        switch self {
        case .delivered: .sent
        case .dead: .dead
        case .expired: .expired
        case .evicted: .evicted
        case .purged: .purged
        case .transformedAway: .transformedAway
        case .erased: .erased
        }
    }
}
