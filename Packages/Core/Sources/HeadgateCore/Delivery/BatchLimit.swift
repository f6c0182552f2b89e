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

    /// A batch of so many events was too large.
    mutating func halve(_ events: Int) {
        current = max(1, events / 2)
    }

    /// A batch of so many events was taken: a tenth more may go next time, once batches are as large as they may be.
    mutating func succeeded(_ events: Int) {
        guard events >= current else { return }
        current = min(most, current + max(1, current / 10))
    }
}
