import HeadgateCore

/// A look at the retained events of a log, from the newest segment back: how much there is, and up to where it is to be given up
/// (Behaviour R1). Pure.
///
/// A segment that every dispatcher has settled is looked at as a whole, so that a look costs little whatever is retained.
struct RetentionLook {
    private(set) var cut: RetentionCut
    private(set) var retained = RetainedEvents.none
    private let trimmedThrough: SequenceNumber
    private let givenUpThrough: SequenceNumber
    private let needed: Needed

    init(_ retention: Retention, _ state: LogState) {
        cut = RetentionCut(retention)
        (trimmedThrough, givenUpThrough, needed) = (state.trimmedThrough, state.givenUpThrough, state.needed)
    }

    /// Takes in the next older segment.
    /// - Parameter isFreed: true if giving up its events makes room on the disk.
    mutating func take(_ index: LogIndex, isFreed: Bool) {
        guard cut.through == nil, let first = index.blocks.first?.stretch else { return }
        let whole = RetentionCut.Span(
            last: index.events.last, lastReceipt: first.ages.lastReceipt, settledBytes: index.total.bytes,
            isFreed: isFreed)
        if index.events.last <= trimmedThrough, first.last > givenUpThrough, cut.keeps(whole) {
            cut.add(whole)
            note(index.total, from: first.ages.firstReceipt)
            return
        }
        for block in index.blocks.reversed() where block.stretch.last > givenUpThrough {
            let settled = block.stretch.tally - needed.unsettled(of: block.stretch)
            let span = RetentionCut.Span(
                last: block.stretch.last, lastReceipt: block.stretch.ages.lastReceipt, settledBytes: settled.bytes,
                isFreed: isFreed)
            guard cut.add(span) else { return }
            if settled.events > 0 { note(settled, from: block.stretch.ages.firstReceipt) }
        }
    }

    private mutating func note(_ settled: Tally, from receipt: Int64) {
        retained.tally += settled
        retained.oldestStamp = receipt
    }
}
