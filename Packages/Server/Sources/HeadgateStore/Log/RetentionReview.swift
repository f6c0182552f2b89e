import HeadgateCore

/// A review of the retained events of a log, from the newest segment back: how many there are, and which are dropped
/// next (Behaviour R1). Pure.
///
/// A segment that every dispatcher has settled is reviewed as a whole, so that a review costs little whatever is
/// retained.
struct RetentionReview {
    private(set) var cut: RetentionCut
    private(set) var retained = RetainedEvents.none
    private let trimmedThrough: SequenceNumber
    private let unretainedThrough: SequenceNumber
    private let needed: Needed

    init(_ retention: Retention, _ state: LogState) {
        cut = RetentionCut(retention)
        (trimmedThrough, unretainedThrough, needed) = (state.trimmedThrough, state.unretainedThrough, state.needed)
    }

    /// Adds the next older segment.
    /// - Parameter isFreed: true if dropping its events makes room on the disk.
    mutating func take(_ index: LogIndex, isFreed: Bool) {
        guard cut.through == nil, let first = index.blocks.first?.span else { return }
        let whole = RetentionCut.Span(
            last: index.events.last, lastReceipt: first.ages.lastReceipt, settledBytes: index.total.bytes,
            isFreed: isFreed)
        if index.events.last <= trimmedThrough, first.last > unretainedThrough, cut.keeps(whole) {
            cut.add(whole)
            note(index.total, from: first.ages.firstReceipt)
            return
        }
        for block in index.blocks.reversed() where block.span.last > unretainedThrough {
            let settled = block.span.tally - needed.unsettled(of: block.span)
            let span = RetentionCut.Span(
                last: block.span.last, lastReceipt: block.span.ages.lastReceipt, settledBytes: settled.bytes,
                isFreed: isFreed)
            guard cut.add(span) else { return }
            if settled.events > 0 { note(settled, from: block.span.ages.firstReceipt) }
        }
    }

    private mutating func note(_ settled: Tally, from receipt: Int64) {
        retained.tally += settled
        retained.oldestStamp = receipt
    }
}
