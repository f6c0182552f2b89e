import Foundation

/// Lets several threads, and tests among them, wait until so many have come.
final class Meeting: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var missing: Int  // Guarded by the condition.

    init(of count: Int) {
        missing = count
    }

    /// Waits for the others, holding the thread.
    func arrive() {
        condition.lock()
        defer { condition.unlock() }
        missing -= 1
        condition.broadcast()
        while missing > 0 { condition.wait() }
    }

    /// Arrives from an asynchronous test.
    func wait() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.arrive()
                continuation.resume()
            }
        }
    }
}
