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

    /// How long it is until a moment; zero if it has passed.
    func wait(until moment: Timestamp) -> Duration {
        .milliseconds(max(0, moment.milliseconds - now.milliseconds))
    }

    /// The same in whole seconds, for what counts them down: zero only when the moment has come.
    func waitInSeconds(until moment: Timestamp) -> Duration {
        .seconds((max(0, moment.milliseconds - now.milliseconds) + 999) / 1_000)
    }

    /// A text with the moments in it, which the wire has in UTC, as they are read here.
    func localised(_ text: String) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        return words.map { Timestamp(rfc3339: String($0)).map(self.text) ?? String($0) }.joined(separator: " ")
    }

    private func parts(_ moment: Timestamp) -> (day: String, time: String) {
        let local = Timestamp(milliseconds: moment.milliseconds + Int64(offset(moment)) * 1_000).text
        let halves = local.split(separator: "T")
        return (String(halves[0]), String(halves[1].prefix(8)))
    }
}
