import Glibc
import HeadgateData

/// The time of day, as people where the tool runs read it.
struct WallClock: Sendable {
    /// The present moment.
    let now: Timestamp
    /// How many seconds the local time is ahead of UTC at a moment.
    let offset: @Sendable (Timestamp) -> Int

    /// The machine's clock and zone.
    static var local: WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
        return WallClock(now: now) { moment in
            var seconds = time_t(moment.milliseconds / 1_000)
            var parts = tm()
            return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
        }
    }

    /// `09:41:55`, or with the day if it is another one: `2026-11-19 09:41:55`.
    func text(_ moment: Timestamp) -> String {
        let (day, time) = parts(moment)
        return day == parts(now).day ? time : "\(day) \(time)"
    }

    /// How long ago a moment was; zero if it is still to come.
    func age(_ moment: Timestamp) -> Duration {
        .milliseconds(max(0, now.milliseconds - moment.milliseconds))
    }

    private func parts(_ moment: Timestamp) -> (day: String, time: String) {
        let local = Timestamp(milliseconds: moment.milliseconds + Int64(offset(moment)) * 1_000).text
        let halves = local.split(separator: "T")
        return (String(halves[0]), String(halves[1].prefix(8)))
    }
}
