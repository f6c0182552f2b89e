import Glibc
import HeadgateData

/// The present time, and the local time zone.
public struct WallClock: Sendable {
    /// The present time.
    public let now: Timestamp
    /// Returns the seconds that local time is ahead of UTC at a time.
    public let offset: @Sendable (Timestamp) -> Int

    public init(now: Timestamp, offset: @escaping @Sendable (Timestamp) -> Int) {
        self.now = now
        self.offset = offset
    }

    /// The machine's clock and time zone.
    public static var local: WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
        return WallClock(now: now) { moment in
            var seconds = time_t(moment.milliseconds / 1_000)
            var parts = tm()
            return localtime_r(&seconds, &parts) == nil ? 0 : parts.tm_gmtoff
        }
    }

    /// Returns the local time `09:41:55`, with the date if it is not today: `2026-11-19 09:41:55`.
    public func text(_ moment: Timestamp) -> String {
        let (day, time) = parts(moment)
        return day == parts(now).day ? time : "\(day) \(time)"
    }

    /// Returns the time since a moment, or zero if the moment is in the future.
    public func age(_ moment: Timestamp) -> Duration {
        .milliseconds(max(0, now.milliseconds - moment.milliseconds))
    }

    /// Returns the time until a moment, or zero if the moment has passed.
    public func wait(until moment: Timestamp) -> Duration {
        .milliseconds(max(0, moment.milliseconds - now.milliseconds))
    }

    /// Returns the time until a moment, rounded up to seconds. A countdown thus reaches zero only at the moment.
    public func waitInSeconds(until moment: Timestamp) -> Duration {
        .seconds((max(0, moment.milliseconds - now.milliseconds) + 999) / 1_000)
    }

    /// Returns a text with its UTC timestamps replaced by local times.
    public func localised(_ text: String) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        return words.map { Timestamp(rfc3339: String($0)).map(self.text) ?? String($0) }.joined(separator: " ")
    }

    private func parts(_ moment: Timestamp) -> (day: String, time: String) {
        let local = Timestamp(milliseconds: moment.milliseconds + Int64(offset(moment)) * 1_000).text
        let halves = local.split(separator: "T")
        return (String(halves[0]), String(halves[1].prefix(8)))
    }
}
