import Glibc
import HeadgateData

/// Writes quantities as text for people.
public enum Quantity {
    /// Returns a number with a noun: `1 event`, `2 events`, `1 000 000 events`.
    public static func counted(_ count: Int, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a number with its digits in groups.
    public static func grouped(_ number: Int) -> String {
        var text = ""
        for (place, digit) in String(number.magnitude).reversed().enumerated() {
            if place > 0, place % 3 == 0 { text = " " + text }
            text = String(digit) + text
        }
        return number < 0 ? "-" + text : text
    }

    /// Returns a time span: `0 s`, `850 ms`, `12 s`, `3 min`, `2 h 5 min`, `4 d 1 h`.
    public static func time(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds > 0 || attoseconds > 0 else { return "0 s" }
        guard seconds > 0 else { return "\(attoseconds / 1_000_000_000_000_000) ms" }
        switch seconds {
        case ..<100: return "\(seconds) s"
        case ..<6_000: return "\(seconds / 60) min"
        case ..<172_800: return two(seconds / 3_600, "h", seconds % 3_600 / 60, "min")
        default: return two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h")
        }
    }

    /// Returns a size: `512 B`, `3.4 KiB`, `1.0 GiB`.
    public static func bytes(_ count: Int) -> String {
        guard count >= 1_024 else { return "\(count) B" }
        var tenths = count / 1_024 * 10 + count % 1_024 * 10 / 1_024
        var units = ["KiB", "MiB", "GiB", "TiB"][...]
        while tenths >= 10_240, units.count > 1 {
            tenths /= 1_024
            units.removeFirst()
        }
        return "\(tenths / 10).\(tenths % 10) \(units.first ?? "")"
    }

    /// Returns a rate per second: `0`, `0.3`, `9.5`, `12`, `1 234`.
    public static func rate(_ perSecond: Double) -> String {
        guard perSecond > 0 else { return "0" }
        guard perSecond < 9.95 else { return grouped(Int(exactly: perSecond.rounded()) ?? .max) }
        let tenths = Int((perSecond * 10).rounded(.up))
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    private static func two(_ large: Int64, _ unit: String, _ small: Int64, _ smallUnit: String) -> String {
        small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(smallUnit)"
    }
}

/// The present time, and the local time zone.
public struct WallClock: Sendable {
    /// The present time.
    public let now: Timestamp
    /// Returns the seconds that local time is ahead of UTC at a time.
    public let offset: @Sendable (Timestamp) -> Int

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
    func waitInSeconds(until moment: Timestamp) -> Duration {
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
