import Foundation
import HeadgateTransport

/// A meeting point of threads and tests: each waits until all have arrived.
final class Rendezvous: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var missing: Int  // Guarded by the condition.

    init(of count: Int) {
        missing = count
    }

    /// Blocks the thread until all have arrived.
    func arrive() {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        condition.broadcast()
        while missing > 0 { condition.wait() }
    }

    /// Waits until all have arrived. For asynchronous tests.
    func wait() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.arrive()
                continuation.resume()
            }
        }
    }
}

/// A thread-safe counter whose first value is 1.
final class Ordinal: Sendable {
    private let count = Guarded(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}

/// A monotonic clock in nanoseconds that only the test advances.
final class ManualNanoseconds: Sendable {
    private let time = Guarded<Int64>(1_000_000_000)

    var now: Int64 { time.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 += Int64(duration / .nanoseconds(1)) }
    }
}
