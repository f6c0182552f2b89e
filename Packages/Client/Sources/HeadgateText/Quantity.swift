/// Writes quantities as text for people.
public enum Quantity {
    /// Returns a number with a noun: `1 event`, `2 events`, `1 000 000 events`.
    public static func counted(_ count: Int, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a number with its digits in groups.
    public static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number.magnitude).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text = " " + text }
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
