/// The most events of a batch at present: `dispatch_limit`, or less after a destination found a batch too large. The
/// limit grows again with success (Behaviour D6). Pure.
struct BatchLimit {
    /// The configured limit.
    private(set) var most: Int
    private(set) var current: Int
    /// The newest event of the batches that were too large and are sent again in halves.
    private var halvedThrough: SequenceNumber = 0

    init(_ most: Int) {
        self.most = max(1, most)
        current = self.most
    }

    /// Applies another configured limit. Events of halved batches stay in halves.
    mutating func reset(to most: Int) {
        self.most = max(1, most)
        current = self.most
    }

    /// Records that a batch was too large, and halves the limit. A batch that was sent before the limit last shrank
    /// does not raise it.
    /// - Parameters:
    ///   - events: the number of events in the batch.
    ///   - newest: the last event of the batch.
    mutating func halve(_ events: Int, through newest: SequenceNumber) {
        current = max(1, min(current, (events + 1) / 2))
        halvedThrough = max(halvedThrough, newest)
    }

    /// Records a delivered batch. If it was as large as the limit, the limit grows by a tenth.
    mutating func succeeded(_ events: Int) {
        guard events >= current else { return }
        current = min(most, current + max(1, current / 10))
    }

    /// Returns true if an event is part of a batch that was too large. It then waits for no full batch.
    func isHalf(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber <= halvedThrough
    }

    /// Returns true if an event may be in one batch with the batch's first event. Halves of a batch that was too large
    /// contain no other events.
    func mayJoin(_ sequenceNumber: SequenceNumber, with first: SequenceNumber?) -> Bool {
        guard let first else { return true }
        return !isHalf(first) || isHalf(sequenceNumber)
    }
}
