import Glibc
import HeadgateCore
import HeadgateTransport

/// How long the syncs of a store's files take (Behaviour O1): told by the store's thread, and read on the scheduler.
package final class SyncTimes: Sendable {
    private let times = Guarded(Histogram(.seconds))

    /// As they stand now.
    var histogram: Histogram { times.withLock { $0 } }

    /// Does something that ends with a sync, and notes how long it took, whatever came of it.
    func measure<Result, Fault: Error>(_ work: () throws(Fault) -> Result) throws(Fault) -> Result {
        let start = SyncTimes.now
        defer {
            let end = SyncTimes.now
            times.withLock { $0.record(end - start) }
        }
        return try work()
    }

    /// Nanoseconds on the monotonic clock. A simulation has a disk of its own, which this never measures.
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
