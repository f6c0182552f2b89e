import HeadgateData
import Testing

@testable import HeadgateCommands

/// Tests past times in the form of the command line.
@Suite struct PastMomentTests {
    private let now = Timestamp(milliseconds: 1_795_167_715_007)

    @Test(
        "A time is absolute, or an age",
        arguments: [
            ("2026-11-20T10:41:55+01:00", "2026-11-20T09:41:55.000Z"), ("0s", "2026-11-20T09:41:55.007Z"),
            ("90s", "2026-11-20T09:40:25.007Z"), ("15m", "2026-11-20T09:26:55.007Z"),
            ("15min", "2026-11-20T09:26:55.007Z"), ("1h", "2026-11-20T08:41:55.007Z"),
            ("2d", "2026-11-18T09:41:55.007Z"), ("1w", "2026-11-13T09:41:55.007Z"),
            ("1d12h30m5s", "2026-11-18T21:11:50.007Z"), ("20777d", "1970-01-01T09:41:55.007Z"),
        ])
    func reads(text: String, moment: String) {
        #expect(PastTime.parse(text, now: now)?.text == moment)
    }

    @Test(
        "A text that is neither a time nor a duration, or is too long, is refused",
        arguments: [
            "", "1", "h", "1x", "-1h", "+1h", "1.5h", "1 h", "1h ", "1h30", "h1", "1H", "yesterday", "20778d",
            "9223372036854775807s", "9223372036854775807w", "9223372036854775808s", "9223372036854775807s1s", "１h",
        ])
    func refuses(text: String) {
        #expect(PastTime.parse(text, now: now) == nil)
    }
}

@Suite struct TimeSpanTests {
    @Test(
        "A duration is whole numbers with their units",
        arguments: [("500ms", 500), ("90s", 90_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1s5ms", 1_005)])
    func reads(text: String, milliseconds: Int64) {
        #expect(TimeSpan.milliseconds(text) == milliseconds)
    }

    @Test("Any other text is refused", arguments: ["", "1", "s", "-1s", "1.5h", "1y", "9223372036854775807s"])
    func refuses(text: String) {
        #expect(TimeSpan.milliseconds(text) == nil)
    }
}
