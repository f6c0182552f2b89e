import CUV
import Glibc
import HeadgateData

extension EventLoop {
    /// Nanoseconds on the monotonic clock, for waits; the origin means nothing. From any thread.
    public var monotonicNow: Int64 {
        Int64(truncatingIfNeeded: uv_hrtime())
    }

    /// Wall time, for what people read. It may jump. From any thread.
    public var wallNow: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The moment on the monotonic clock so long from now; one too far off to be told is the clock's last.
    func deadline(after delay: Duration) -> Int64 {
        let (seconds, attoseconds) = delay.components
        guard seconds < 1 << 32 else { return .max }
        guard seconds >= 0 else { return monotonicNow }
        return monotonicNow + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
