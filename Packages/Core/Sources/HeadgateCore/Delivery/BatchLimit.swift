/// How many events a batch may have now: `dispatch_limit`, or less after a destination found a batch too large; then it
/// grows again with success (Behaviour D6). Pure.
struct BatchLimit {
    /// The configured limit.
    private(set) var most: Int
    private(set) var current: Int
    /// The newest event of the batches that were too large and go again in halves.
    private var halvedThrough: SequenceNumber = 0

    init(_ most: Int) {
        self.most = max(1, most)
        current = self.most
    }

    /// Another limit is configured. Halves that wait stay halves.
    mutating func reset(to most: Int) {
        self.most = max(1, most)
        current = self.most
    }

    /// A batch of so many events was too large: two of the larger half's size will hold it. One that was sent before the
    /// limit last shrank does not raise it again.
    /// - Parameter newest: the last event of the batch.
    mutating func halve(_ events: Int, through newest: SequenceNumber) {
        current = max(1, min(current, (events + 1) / 2))
        halvedThrough = max(halvedThrough, newest)
    }

    /// A batch of so many events was taken: a tenth more may go next time, once batches are as large as they may be.
    mutating func succeeded(_ events: Int) {
        guard events >= current else { return }
        current = min(most, current + max(1, current / 10))
    }

    /// Whether an event is a part of a batch that was too large: it needs no company.
    func isHalf(_ sequenceNumber: SequenceNumber) -> Bool {
        sequenceNumber <= halvedThrough
    }

    /// Whether an event may go in one batch with the first: the rest of a batch that was too large goes without those
    /// that were no part of it.
    func mayGo(_ sequenceNumber: SequenceNumber, with first: SequenceNumber?) -> Bool {
        guard let first else { return true }
        return !isHalf(first) || isHalf(sequenceNumber)
    }
}
