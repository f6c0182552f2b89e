import Foundation
import HeadgateTransport

/// A meeting point of threads and tests: each waits until all have arrived.
final class Rendezvous: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var missing: Int  // Guarded by the condition.

    init(of count: Int) {
        missing = count
    }

    /// Waits for the others, and blocks the thread.
    func arrive() {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        condition.broadcast()
        while missing > 0 { condition.wait() }
    }

    /// Waits for the others, from an asynchronous test.
    func wait() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.arrive()
                continuation.resume()
            }
        }
    }
}

/// Counts from 1, on any thread.
final class Ordinal: Sendable {
    private let count = Guarded(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// A monotonic clock that the test moves, in nanoseconds.
final class ManualNanoseconds: Sendable {
    private let time = Guarded<Int64>(1_000_000_000)

    var now: Int64 { time.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 += Int64(duration / .nanoseconds(1)) }
    }
}
