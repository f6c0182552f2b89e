import Glibc
import HeadgateCore
import HeadgateTransport

/// The durations of the syncs of a store's files (Behaviour O1): recorded by the store's thread, and read on the
/// scheduler.
package final class SyncTimes: Sendable {
    private let times = Guarded(Histogram(.seconds))

    /// The present durations.
    var histogram: Histogram { times.withLock { $0 } }

    /// Does work that ends with a sync, and records its duration, also after a fault.
    func measure<Result, Fault: Error>(_ work: () throws(Fault) -> Result) throws(Fault) -> Result {
        let start = SyncTimes.now
        defer {
            let end = SyncTimes.now
            times.withLock { $0.record(end - start) }
        }
        return try work()
    }

    /// The monotonic time in nanoseconds. A simulation has a disk of its own, which is not measured.
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
