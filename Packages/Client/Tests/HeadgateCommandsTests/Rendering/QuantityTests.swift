import HeadgateData
import HeadgateText
import Testing

@Suite struct QuantityTests {
    @Test(
        "Durations are printed in people's units",
        arguments: [
            (.zero, "0 s"), (.milliseconds(850), "850 ms"), (.milliseconds(1_999), "1 s"), (.seconds(99), "99 s"),
            (.seconds(100), "1 min"), (.seconds(5_999), "99 min"), (.seconds(7_500), "2 h 5 min"),
            (.seconds(7_200), "2 h"), (.seconds(90_000 * 4), "4 d 4 h"), (.seconds(-5), "0 s"),
        ] as [(Duration, String)])
    func time(duration: Duration, text: String) {
        #expect(Quantity.time(duration) == text)
    }

    @Test(
        "So are bytes",
        arguments: [
            (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (3_500, "3.4 KiB"), (1 << 20, "1.0 MiB"),
            (1 << 30, "1.0 GiB"), (5 << 40, "5.0 TiB"),
            (.max, "8388607.9 TiB"),
        ])
    func bytes(count: Int, text: String) {
        #expect(Quantity.bytes(count) == text)
    }

    @Test(
        "Small rates have a decimal, and a rate above zero is never shown as zero",
        arguments: [
            (0, "0"), (0.01, "0.1"), (0.95, "1"), (9.5, "9.5"), (9.94, "10"), (12.4, "12"), (1_234, "1 234"),
            (-1, "0"), (.nan, "0"), (1e300, "9 223 372 036 854 775 807"),
        ] as [(Double, String)])
    func rates(perSecond: Double, text: String) {
        #expect(Quantity.rate(perSecond) == text)
    }

    @Test("Counts are printed with their nouns")
    func counts() {
        #expect(Quantity.counted(1, "event") == "1 event")
        #expect(Quantity.counted(0, "event") == "0 events")
        #expect(Quantity.grouped(1_234_567) == "1 234 567")
        #expect(Quantity.grouped(-999) == "-999")
    }

    @Test("A time of today is printed without the day, in local time")
    func clock() {
        let now = Timestamp(milliseconds: 1_800_000_000_000)  // 2027-01-15T08:00:00Z
        let clock = WallClock(now: now) { _ in 3_600 }
        #expect(clock.text(now) == "09:00:00")
        #expect(clock.text(Timestamp(milliseconds: now.milliseconds - 10 * 3_600_000)) == "2027-01-14 23:00:00")
        #expect(clock.age(Timestamp(milliseconds: now.milliseconds - 1_500)) == .milliseconds(1_500))
        #expect(clock.age(Timestamp(milliseconds: now.milliseconds + 1_500)) == .zero)
        #expect(clock.wait(until: Timestamp(milliseconds: now.milliseconds + 1_500)) == .milliseconds(1_500))
        #expect(clock.waitInSeconds(until: Timestamp(milliseconds: now.milliseconds + 1_500)) == .seconds(2))
        #expect(clock.waitInSeconds(until: now) == .zero)
        #expect(clock.localised("until 2027-01-15T09:00:00.000Z or  so") == "until 10:00:00 or  so")
    }
}
