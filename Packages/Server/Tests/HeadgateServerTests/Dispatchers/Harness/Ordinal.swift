import Synchronization

/// Counts from 1, on any thread.
final class Ordinal: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
