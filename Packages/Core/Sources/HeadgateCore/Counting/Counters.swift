/// A list of things that are counted from the start on. A case of it is all that a new counter needs: its name is the case's,
/// and whoever tells of counters goes over the list.
public protocol CounterList: RawRepresentable<Int>, CaseIterable, Hashable, Sendable {}

extension CounterList {
    /// The name that people and clients see: that of the case, its words joined by underscores.
    public var name: String {
        String(describing: self).reduce(into: "") { name, letter in
            name += letter.isUppercase ? "_" + letter.lowercased() : String(letter)
        }
    }
}

/// How often each thing of a list has happened.
public struct Counters<List: CounterList>: Sendable, Equatable {
    @usableFromInline var counts = [Int](repeating: 0, count: List.allCases.count)

    /// Nothing has happened yet.
    public init() {}

    fileprivate init(_ counts: [Int]) {
        self.counts = counts
    }

    /// How often it has happened.
    public subscript(counter: List) -> Int { counts[counter.rawValue] }

    /// Counts something once, or as often as it has happened.
    @inlinable
    public mutating func count(_ counter: List, _ times: Int = 1) {
        counts[counter.rawValue] += times
    }

    /// These, as if the others had never happened.
    public func only(_ isMeant: (List) -> Bool) -> Counters {
        var some = self
        for counter in List.allCases where !isMeant(counter) { some.counts[counter.rawValue] = 0 }
        return some
    }

    /// What has come since an earlier look.
    public func since(_ earlier: Counters) -> Counters {
        var news = self
        for place in counts.indices { news.counts[place] -= earlier.counts[place] }
        return news
    }
}

/// What is counted of the whole service's events, in events where nothing else is said (Behaviour P1).
public enum EventCounter: Int, CounterList {
    /// Valid events that clients sent, whatever became of them.
    case received
    /// Events that were stored already (Behaviour Q7).
    case duplicates
    /// Events that no dispatcher wanted.
    case unrouted
    /// Of those received: refused because there was no room, or the store failed.
    case rejected
    /// For each dispatcher that delivered it, an event counts once; so with those below.
    case delivered
    /// Events that go once more, each time that they do.
    case retried
    /// Events that were given up (Behaviour D9).
    case dead
    /// Dead letters whose events went into the queue again; each will be delivered, dead and so on once more.
    case requeued
    /// Dead letters that had to make room for newer ones (Behaviour D10).
    case droppedLetters
    /// Events that were kept too long (Behaviour Q4).
    case expired
    /// Events that were purged, or had to make room for newer ones (Behaviour Q5).
    case evicted
    /// Events that a transformation dropped (Behaviour P4).
    case transformedAway
    /// Events that a damaged store has lost (Behaviour Q8).
    case quarantined
    /// Faults of a program's own collectors.
    case collectorErrors
    /// Faults of barriers (Behaviour B9).
    case barrierErrors
    /// Faults of transformations.
    case transformationErrors
}

extension EventCounter {
    /// What it counts, in words for documents.
    public var meaning: String {
        switch self {
        case .received: "Valid events that clients sent, whatever became of them"
        case .duplicates: "Events that were stored already"
        case .unrouted: "Events that no dispatcher wanted"
        case .rejected: "Events that were refused because there was no room, or the store failed"
        case .delivered: "Events delivered, once for each dispatcher that delivered it"
        case .retried: "Events that went once more, each time that they did"
        case .dead: "Events given up and put aside as dead letters"
        case .requeued: "Dead letters whose events went into the queue again"
        case .droppedLetters: "Dead letters that had to make room for newer ones"
        case .expired: "Events kept too long"
        case .evicted: "Events purged, or dropped to make room"
        case .transformedAway: "Events that a transformation dropped"
        case .quarantined: "Events that a damaged store has lost"
        case .collectorErrors: "Faults of a program's own collectors"
        case .barrierErrors: "Faults of barriers"
        case .transformationErrors: "Faults of transformations"
        }
    }
}

/// The service's counters of events: the one place where these are counted.
public final class EventCounts {
    /// At a place of their own: what is counted several times an event is to cost next to nothing.
    private let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: EventCounter.allCases.count)
    private let losses = PulseSubject<EventLoss>()

    public init() {
        counts.initialize(repeating: 0)
    }

    deinit {
        counts.deallocate()
    }

    /// As they stand now.
    public var all: Counters<EventCounter> { Counters(Array(counts)) }

    /// Events that are not delivered any more, as they are counted.
    public var lost: Observable<EventLoss> { losses.observable }

    /// Tells of events that are not delivered any more, which are counted already.
    func tell(_ loss: EventLoss) {
        if loss.events > 0 { losses.send(loss) }
    }

    /// Counts something once, or as often as it has happened.
    public func count(_ counter: EventCounter, _ times: Int = 1) {
        counts[counter.rawValue] += times
    }
}

/// What is counted of each dispatcher.
public enum DispatcherCounter: Int, CounterList {
    /// Events delivered.
    case sent
    /// Attempts that failed.
    case failed
    /// Events that go once more, each time that they do.
    case retried
    /// Events that were given up (Behaviour D9).
    case dead
    /// Events that were kept too long (Behaviour Q4).
    case expired
    /// Events that were purged, or had to make room for newer ones (Behaviour Q5).
    case evicted
    /// Events that a transformation dropped (Behaviour P4).
    case transformedAway
    /// Events that the destination reported as duplicates at their first attempt (Behaviour K4).
    case duplicates

    /// What it counts, in words for documents.
    public var meaning: String {
        switch self {
        case .sent: "events delivered"
        case .failed: "attempts that failed"
        case .retried: "events that went once more, each time that they did"
        case .dead: "events given up"
        case .expired: "events kept too long"
        case .evicted: "events purged, or dropped to make room"
        case .transformedAway: "events that a transformation dropped"
        case .duplicates: "events delivered that the destination reported as duplicates at their first attempt"
        }
    }

    /// What it is called in the list of dispatchers; nil when it is not there (Protocol, `dispatcher.list`).
    public var nameInList: String? {
        switch self {
        case .retried, .transformedAway, .duplicates: nil
        default: name
        }
    }

    /// What it is called among the outcomes; nil when it is none (Protocol, `watch`).
    public var nameAsOutcome: String? {
        switch self {
        case .sent: "delivered"
        case .failed, .transformedAway, .duplicates: nil
        default: name
        }
    }
}

extension DeliveryEnd {
    /// By what the service counts it.
    var counter: EventCounter {
        switch self {
        case .delivered: .delivered
        case .dead: .dead
        case .expired: .expired
        case .evicted, .purged: .evicted
        case .transformedAway: .transformedAway
        }
    }

    /// By what its dispatcher counts it.
    var dispatcherCounter: DispatcherCounter {
        switch self {
        case .delivered: .sent
        case .dead: .dead
        case .expired: .expired
        case .evicted, .purged: .evicted
        case .transformedAway: .transformedAway
        }
    }
}
