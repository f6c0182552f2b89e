import HeadgateData

// What is measured, for those who keep an eye on many machines (Behaviour O1).

extension Headgate {
    /// How long every dispatcher's events took, in alphabetical order of the dispatchers.
    public var dispatcherMeasures: [(dispatcher: String, measures: DispatcherMeasures)] {
        dispatcherIds.compactMap { id in dispatchers[id].map { (id, $0.measures) } }
    }

    /// For how long each barrier has held each dispatcher that it stands before.
    public var closedTimes: [ClosedWay] {
        var all: [ClosedWay] = []
        coordinator.closedTimes(of: dispatcherIds) { barrier, dispatcher, time in
            all.append(ClosedWay(barrier: barrier, dispatcher: dispatcher, time: time))
        }
        return all
    }
}

/// A barrier before a dispatcher, and for how long it has held that one.
public struct ClosedWay: Sendable, Equatable {
    /// The barrier's id.
    public let barrier: String
    /// The dispatcher's id.
    public let dispatcher: String
    /// Since the barrier stands there.
    public let time: ClosedTime
}
