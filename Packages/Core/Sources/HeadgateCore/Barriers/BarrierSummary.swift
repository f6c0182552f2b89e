import HeadgateData

/// A barrier as people see it (Behaviour B10).
public struct BarrierSummary: Sendable, Equatable {
    public var identity: BarrierIdentity
    public var scopes: [BarrierScope]
    /// The state for each dispatcher in scope; nil where it has not given one yet (`waiting`, Behaviour B3).
    public var states: [(dispatcher: String, state: BarrierState?)]
    public var isFlushable: Bool
    /// When its state last changed.
    public var since: Timestamp
    /// An operator's or owner's words, or the cause.
    public var reason: String?
    public var configuration: DataObject?

    public static func == (left: BarrierSummary, right: BarrierSummary) -> Bool {
        left.identity == right.identity && left.scopes == right.scopes
            && left.states.elementsEqual(right.states, by: ==) && left.isFlushable == right.isFlushable
            && left.since == right.since && left.reason == right.reason && left.configuration == right.configuration
    }
}

extension BarrierCoordinator {
    /// Every barrier, those registered first in front.
    public var summaries: [BarrierSummary] {
        entries.sorted { $0.key < $1.key }.map { key, entry in summary(of: entry, key: key) }
    }

    /// The ids of the barriers that hold a dispatcher now.
    func blockers(of dispatcherId: String, flushing: Bool) -> [BarrierIdentity] {
        way(to: dispatcherId).blockers(flushing: flushing).compactMap { entries[$0]?.identity }
    }

    private func summary(of entry: BarrierEntry, key: BarrierKey) -> BarrierSummary {
        let dispatchers = entry.observations.keys.sorted()
        let described = entry.barrier as? any DescribedBarrier
        return BarrierSummary(
            identity: entry.identity,
            scopes: entry.scopes,
            states: dispatchers.map { ($0, way(to: $0).reports[key]?.state) },
            isFlushable: entry.isFlushable ?? false,
            since: entry.since,
            reason: dispatchers.lazy.compactMap { described?.reason(for: $0) }.first
                ?? dispatchers.lazy.compactMap { entry.failures[$0] }.first,
            configuration: entry.configuration)
    }
}
