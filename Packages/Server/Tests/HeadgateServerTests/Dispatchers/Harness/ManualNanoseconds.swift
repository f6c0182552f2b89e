import Synchronization

/// A monotonic clock that a test moves, in nanoseconds.
final class ManualNanoseconds: Sendable {
    private let time = Mutex<Int64>(1_000_000_000)

    var now: Int64 { time.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 += Int64(duration / .nanoseconds(1)) }
    }
}
