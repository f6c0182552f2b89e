/// The way to one dispatcher: every barrier in scope with its state, counted so that a change costs what it touches.
/// Pure: told what changed, it knows whether the way is open.
struct Way {
    /// What one barrier says about this way.
    struct Report: Equatable {
        /// Nil until the barrier has said something (Behaviour B3).
        var state: BarrierState?
        /// Nil until the barrier has said something.
        var isFlushable: Bool?

        /// Closed, and closed for flushes too.
        var isFirm: Bool { state == nil ? true : state == .closed && isFlushable != true }
        /// Closed, unless a flush ignores it.
        var blocks: Bool { state != .open }
    }

    private(set) var reports: [BarrierKey: Report] = [:]
    private var blocking = 0
    private var firm = 0

    /// Sets what a barrier says; nil when it no longer stands here.
    mutating func set(_ report: Report?, of barrier: BarrierKey) {
        let old = reports[barrier]
        reports[barrier] = report
        blocking += (report?.blocks == true ? 1 : 0) - (old?.blocks == true ? 1 : 0)
        firm += (report?.isFirm == true ? 1 : 0) - (old?.isFirm == true ? 1 : 0)
    }

    /// Whether dispatches may go on; during a flush, closed flushable barriers are ignored (Behaviour B1, B2).
    func isOpen(flushing: Bool) -> Bool {
        (flushing ? firm : blocking) == 0
    }

    /// The barriers that hold dispatches now.
    func blockers(flushing: Bool) -> [BarrierKey] {
        reports.filter { flushing ? $0.value.isFirm : $0.value.blocks }.keys.sorted()
    }
}

/// Names a barrier inside the coordinator; younger barriers have higher keys.
typealias BarrierKey = Int
