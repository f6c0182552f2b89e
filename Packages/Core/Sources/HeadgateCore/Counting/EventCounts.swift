/// The service's event counters, and the only place where they are counted.
public final class EventCounts {
    /// The counts are outside the object, because they change several times per event and must cost next to nothing.
    private let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: EventCounter.allCases.count)
    private let losses = PulseSubject<EventLoss>()

    public init() {
        counts.initialize(repeating: 0)
    }

    deinit {
        counts.deallocate()
    }

    /// The present counts.
    public var all: Counters<EventCounter> { Counters(Array(counts)) }

    /// An observable of events that will not be delivered, after they are counted.
    public var lost: Observable<EventLoss> { losses.observable }

    /// Reports events that will not be delivered. They must be counted already.
    func report(_ loss: EventLoss) {
        if loss.events > 0 { losses.send(loss) }
    }

    /// Adds to a counter.
    public func count(_ counter: EventCounter, _ times: Int = 1) {
        counts[counter.rawValue] += times
    }
}
