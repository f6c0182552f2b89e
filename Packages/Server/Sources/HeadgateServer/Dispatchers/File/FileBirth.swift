import Glibc

/// When a file was made.
enum FileBirth {
    /// How long ago, by the wall clock; zero where the file system does not tell, or the clock was set back.
    static func age(of descriptor: Int32) -> Duration {
        var facts = statx()
        let wanted = UInt32(STATX_BTIME)
        guard statx(descriptor, "", AT_EMPTY_PATH, wanted, &facts) == 0, facts.stx_mask & wanted != 0 else { return .zero }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let seconds = Int64(now.tv_sec) - facts.stx_btime.tv_sec
        let nanoseconds = Int64(now.tv_nsec) - Int64(facts.stx_btime.tv_nsec)
        return max(.zero, .seconds(seconds) + .nanoseconds(nanoseconds))
    }
}
