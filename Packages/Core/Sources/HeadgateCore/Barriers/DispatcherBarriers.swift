/// The barriers in scope of one dispatcher with their states. Counts are kept, so that a change costs a constant time.
/// Pure.
struct DispatcherBarriers {
    /// The state of one barrier for this dispatcher.
    struct Report: Equatable {
        /// The state; nil until the barrier has given one (Behaviour B3).
        var state: BarrierState?
        /// The flushability; nil until the barrier has given it.
        var isFlushable: Bool?

        /// True if the barrier also blocks during a flush.
        var blocksFlush: Bool { state == nil ? true : state == .closed && isFlushable != true }
        /// True if the barrier blocks, unless a flush ignores it.
        var blocks: Bool { state != .open }
    }

    private(set) var reports: [BarrierKey: Report] = [:]
    private var blocking = 0
    private var blockingFlush = 0

    /// Sets the state of a barrier; nil if the dispatcher is no longer in its scope.
    mutating func set(_ report: Report?, of barrier: BarrierKey) {
        let old = reports[barrier]
        reports[barrier] = report
        blocking += (report?.blocks == true ? 1 : 0) - (old?.blocks == true ? 1 : 0)
        blockingFlush += (report?.blocksFlush == true ? 1 : 0) - (old?.blocksFlush == true ? 1 : 0)
    }

    /// Returns true if dispatches may be sent. During a flush, closed flushable barriers are ignored (Behaviour B1,
    /// B2).
    func isOpen(flushing: Bool) -> Bool {
        (flushing ? blockingFlush : blocking) == 0
    }

    /// Returns the barriers that block the dispatcher.
    func blockers(flushing: Bool) -> [BarrierKey] {
        reports.filter { flushing ? $0.value.blocksFlush : $0.value.blocks }.keys.sorted()
    }
}

/// The number of a barrier in the coordinator. Later registrations have higher numbers.
typealias BarrierKey = Int
