import HeadgateData

/// A dispatcher as people see it.
public struct DispatcherSummary: Sendable, Equatable {
    public var id: String
    public var kind: String
    /// Whether dispatches may go on now, flushes taken into account.
    public var isOpen: Bool
    /// The barriers that hold it now.
    public var blockedBy: [String]
    public var pending: Int
    public var inFlight: Int
    public var sent: Int
    /// Attempts that failed.
    public var failed: Int
    public var dead: Int
    public var expired: Int
    public var evicted: Int
    /// The age of the oldest event that is not settled; nil when there is none.
    public var oldest: Duration?
    /// When it tries again; nil while it does not wait.
    public var retryAt: Timestamp?
    public var lastError: String?
    public var isFlushing: Bool
}

extension Headgate {
    /// Every dispatcher, in alphabetical order.
    public var dispatcherSummaries: [DispatcherSummary] {
        dispatcherIds.compactMap { dispatchers[$0] }.map(summary)
    }

    /// Every barrier, those registered first in front.
    public var barrierSummaries: [BarrierSummary] { coordinator.summaries }

    /// What is stored and not settled by all.
    public var stored: Tally { events.backlog.live }

    /// The age of the oldest event that some dispatcher has not settled; nil when there is none.
    public var oldestAge: Duration? {
        dispatchers.values.compactMap(oldestAge).max()
    }

    private func summary(_ dispatcher: Dispatcher) -> DispatcherSummary {
        let isFlushing = flushes.target(for: dispatcher.id) != nil
        let blockers = coordinator.blockers(of: dispatcher.id, flushing: isFlushing)
        return DispatcherSummary(
            id: dispatcher.id, kind: dispatcher.kind, isOpen: blockers.isEmpty, blockedBy: blockers.map(\.id),
            pending: dispatcher.pending, inFlight: dispatcher.queue.inFlightCount, sent: dispatcher.tally.sent,
            failed: dispatcher.tally.failed, dead: dispatcher.tally.dead, expired: dispatcher.tally.expired,
            evicted: dispatcher.tally.evicted, oldest: oldestAge(of: dispatcher),
            retryAt: dispatcher.backoff.retryAtWall, lastError: dispatcher.lastError,
            isFlushing: isFlushing)
    }

    private func oldestAge(of dispatcher: Dispatcher) -> Duration? {
        guard let first = dispatcher.queue.first else { return nil }
        let age = events.presentStamp() - first.event.receivedStamp
        return .milliseconds(max(0, age))
    }
}
