import HeadgateData

// Measurements, for monitoring (Behaviour O1).

extension Headgate {
    /// The histograms of all dispatchers, in alphabetical order of the dispatchers.
    public var dispatcherMeasures: [(dispatcher: String, measures: DispatcherMeasures)] {
        dispatchers.ids.compactMap { id in dispatchers[id].map { (id, $0.measures) } }
    }

    /// The age of the oldest retained event; nil if there is none (Behaviour R1).
    public var retainedAge: Duration? {
        events.store.retained.oldestStamp.map { .milliseconds(max(0, events.presentStamp() - $0)) }
    }

    /// The time for which each barrier has blocked each dispatcher in its scope.
    public var closedTimes: [BlockedPair] {
        var all: [BlockedPair] = []
        coordinator.closedTimes(of: dispatchers.ids) { barrier, dispatcher, time in
            all.append(BlockedPair(barrier: barrier, dispatcher: dispatcher, time: time))
        }
        return all
    }
}

/// A barrier, a dispatcher in its scope, and the time for which the barrier has blocked it.
public struct BlockedPair: Sendable, Equatable {
    /// The barrier's id.
    public let barrier: String
    /// The dispatcher's id.
    public let dispatcher: String
    /// The time since the barrier was registered for the dispatcher.
    public let time: ClosedTime
}
