/// How many events a batch may have now: `dispatch_limit`, or less after a destination found a batch too large; then it
/// grows again with success (Behaviour D6).
struct BatchLimit {
    /// The configured limit.
    let most: Int
    private(set) var current: Int

    init(_ most: Int) {
        self.most = max(1, most)
        current = self.most
    }

    /// A batch of so many events was too large: two of the larger half's size will hold it. One that was sent before the
    /// limit last shrank does not raise it again.
    mutating func halve(_ events: Int) {
        current = max(1, min(current, (events + 1) / 2))
    }

    /// A batch of so many events was taken: a tenth more may go next time, once batches are as large as they may be.
    mutating func succeeded(_ events: Int) {
        guard events >= current else { return }
        current = min(most, current + max(1, current / 10))
    }
}
