import HeadgateCore
import HeadgateData
import Testing

@Suite("ScheduleBarrier")
struct ScheduleBarrierTests {
    let bench = BarrierBench(wall: "2026-03-02T12:00:00Z")

    init() {
        bench.addZone(
            "Europe/Berlin", minutesEast: 60, ("2026-03-29T01:00:00Z", 120), ("2026-10-25T01:00:00Z", 60))
        bench.addZone("Australia/Lord_Howe", minutesEast: 630, ("2026-10-03T15:30:00Z", 660))
    }

    private func barrier(_ configuration: DataObject) throws -> ScheduleBarrier {
        try Barriers.schedule().create(context: bench.context, configuration: configuration)
    }

    /// Returns the moments between `start` and `end` at which the barrier opens (`+`) or closes (`-`), sampled every
    /// minute.
    private func changes(_ configuration: DataObject, from start: String, to end: String) throws -> [String] {
        bench.setWall(start)
        let watch = BarrierWatch(try barrier(configuration))
        let end = try #require(Timestamp(rfc3339: end))
        var changes: [String] = []
        while bench.scheduler.wall < end {
            let before = watch.state
            bench.scheduler.advance(by: .seconds(60))
            guard watch.state != before else { continue }
            changes.append((watch.state == .open ? "+" : "-") + bench.scheduler.wall.text.prefix(16))
        }
        return changes
    }

    @Test("B24: the barrier is open within the window, excluding its end, by the machine's clock")
    func window() throws {
        let changes = try changes(
            ["start_hour": 9, "end_hour": 17], from: "2026-03-02T00:00:00Z", to: "2026-03-03T12:00:00Z")
        #expect(changes == ["+2026-03-02T09:00", "-2026-03-02T17:00", "+2026-03-03T09:00"])
    }

    @Test("B24: the barrier opens and closes at the exact millisecond")
    func exact() throws {
        bench.setWall("2026-03-02T08:59:12.345Z")
        let watch = BarrierWatch(try barrier(["start_hour": 9, "end_hour": 17]))
        bench.advance(to: "2026-03-02T08:59:59.999Z")
        #expect(watch.state == .closed)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .open)
        bench.advance(to: "2026-03-02T16:59:59.999Z")
        #expect(watch.state == .open)
        bench.scheduler.advance(by: .milliseconds(1))
        #expect(watch.state == .closed)
    }

    @Test("B24: hour 24 is the end of the day, and a window without hours is the whole day")
    func wholeDay() throws {
        let evening = try changes(["start_hour": 20], from: "2026-03-02T00:00:00Z", to: "2026-03-03T12:00:00Z")
        #expect(evening == ["+2026-03-02T20:00", "-2026-03-03T00:00"])
        #expect(try changes([:], from: "2026-03-02T00:00:00Z", to: "2026-03-03T12:00:00Z").isEmpty)
        #expect(BarrierWatch(try barrier([:])).state == .open)
    }

    @Test("B24: a window across midnight belongs to the day on which it starts")
    func acrossMidnight() throws {
        // The 6th is a Friday.
        let changes = try changes(
            ["start_hour": 22, "end_hour": 6, "days": ["fri"]], from: "2026-03-05T00:00:00Z", to: "2026-03-09T00:00:00Z"
        )
        #expect(changes == ["+2026-03-06T22:00", "-2026-03-07T06:00"])
        let toMidnight = try self.changes(
            ["start_hour": 22, "end_hour": 0, "days": ["fri"]], from: "2026-03-05T00:00:00Z", to: "2026-03-09T00:00:00Z"
        )
        #expect(toMidnight == ["+2026-03-06T22:00", "-2026-03-07T00:00"])
    }

    @Test("B24: on other days the barrier stays closed")
    func days() throws {
        let changes = try changes(
            ["start_hour": 9, "end_hour": 17, "days": ["mon", "wed"]], from: "2026-03-02T00:00:00Z",
            to: "2026-03-09T00:00:00Z")
        #expect(changes == ["+2026-03-02T09:00", "-2026-03-02T17:00", "+2026-03-04T09:00", "-2026-03-04T17:00"])
    }

    @Test("B24: when daylight saving starts, a window within the skipped hour does not open")
    func spring() throws {
        // In Berlin clocks go forward from 2:00 to 3:00 on 2026-03-29, at 1:00 UTC.
        let window: DataObject = ["start_hour": 9, "end_hour": 17, "time_zone": "Europe/Berlin"]
        #expect(
            try changes(window, from: "2026-03-28T00:00:00Z", to: "2026-03-30T00:00:00Z") == [
                "+2026-03-28T08:00", "-2026-03-28T16:00", "+2026-03-29T07:00", "-2026-03-29T15:00",
            ])
        let skipped: DataObject = ["start_hour": 2, "end_hour": 3, "time_zone": "Europe/Berlin"]
        #expect(
            try changes(skipped, from: "2026-03-28T00:00:00Z", to: "2026-03-30T12:00:00Z") == [
                "+2026-03-28T01:00", "-2026-03-28T02:00", "+2026-03-30T00:00", "-2026-03-30T01:00",
            ])
        let night: DataObject = ["start_hour": 22, "end_hour": 3, "time_zone": "Europe/Berlin"]
        #expect(
            try changes(night, from: "2026-03-28T12:00:00Z", to: "2026-03-29T12:00:00Z") == [
                "+2026-03-28T21:00", "-2026-03-29T01:00",
            ])
    }

    @Test("B24: when daylight saving ends, a window within the repeated hour opens twice")
    func autumn() throws {
        // In Berlin clocks go back from 3:00 to 2:00 on 2026-10-25, at 1:00 UTC.
        let hour: DataObject = ["start_hour": 2, "end_hour": 3, "time_zone": "Europe/Berlin"]
        #expect(
            try changes(hour, from: "2026-10-24T12:00:00Z", to: "2026-10-25T12:00:00Z") == [
                "+2026-10-25T00:00", "-2026-10-25T02:00",
            ])
        let before: DataObject = ["start_hour": 22, "end_hour": 2, "time_zone": "Europe/Berlin"]
        #expect(
            try changes(before, from: "2026-10-24T12:00:00Z", to: "2026-10-25T12:00:00Z") == [
                "+2026-10-24T20:00", "-2026-10-25T00:00",
            ])
    }

    @Test("B24: a zone with a half-hour offset and half-hour clock changes")
    func halfHours() throws {
        // On Lord Howe Island clocks go forward from 2:00 to 2:30 on 2026-10-04, at 15:30 UTC the day before.
        let window: DataObject = ["start_hour": 1, "end_hour": 3, "time_zone": "Australia/Lord_Howe"]
        #expect(
            try changes(window, from: "2026-10-02T12:00:00Z", to: "2026-10-05T00:00:00Z") == [
                "+2026-10-02T14:30", "-2026-10-02T16:30", "+2026-10-03T14:30", "-2026-10-03T16:00",
                "+2026-10-04T14:00", "-2026-10-04T16:00",
            ])
    }

    @Test("P7: a jump of the wall clock is noticed within a minute, and leaves no event stuck")
    func jumps() throws {
        let watch = BarrierWatch(try barrier(["start_hour": 9, "end_hour": 17]))
        #expect(watch.state == .open)
        bench.setWall("2027-06-01T20:00:30Z")
        bench.scheduler.advance(by: .seconds(60))
        #expect(watch.state == .closed)
        bench.setWall("2020-01-01T10:00:30Z")
        bench.scheduler.advance(by: .seconds(60))
        #expect(watch.state == .open)
        bench.advance(to: "2020-01-01T17:00:00Z")
        #expect(watch.state == .closed)
    }

    @Test("B24: the barrier is not flushable by default")
    func flushability() throws {
        let barrier = try barrier(["start_hour": 9, "end_hour": 10])
        let watch = BarrierWatch(barrier)
        #expect(watch.isFlushable == false)
        try barrier.updateConfiguration(["start_hour": 9, "end_hour": 10, "flushable": true])
        #expect(watch.isFlushable == true)
    }

    @Test("B7, B10: changed hours apply at once, and a closed barrier shows its next opening")
    func updates() throws {
        let barrier = try barrier(["start_hour": 9, "end_hour": 17])
        let watch = BarrierWatch(barrier)
        #expect(barrier.reason(for: "collect") == nil)
        try barrier.updateConfiguration([
            "start_hour": 14, "end_hour": 15, "days": ["sun"], "time_zone": "Europe/Berlin",
        ])
        #expect(watch.state == .closed)
        #expect(barrier.reason(for: "collect") == "outside the schedule until 2026-03-08T13:00:00.000Z")
        #expect(throws: BarrierConfigurationFault.self) { try barrier.updateConfiguration(["time_zone": "Mars"]) }
        #expect(barrier.reason(for: "collect") == "outside the schedule until 2026-03-08T13:00:00.000Z")
        bench.advance(to: "2026-03-08T13:00:00Z")
        #expect(watch.state == .open)
    }

    @Test("B24: a window that only exists in a skipped hour has no next opening")
    func noOpening() throws {
        bench.setWall("2026-03-28T12:00:00Z")
        let barrier = try barrier(["start_hour": 2, "end_hour": 3, "days": ["sun"], "time_zone": "Europe/Berlin"])
        #expect(barrier.reason(for: "collect") == "outside the schedule until 2026-04-05T00:00:00.000Z")
    }

    @Test(
        "B24, S2: invalid settings are rejected",
        arguments: [
            (["start_hour": 24], "start_hour"), (["start_hour": -1], "start_hour"), (["end_hour": 25], "end_hour"),
            (["start_hour": 9.5], "start_hour"), (["start_hour": 9, "end_hour": 9], "end_hour"),
            (["start_hour": 0, "end_hour": 0], "end_hour"), (["days": []], "days"), (["days": ["Monday"]], "days"),
            (["days": "mon"], "days"), (["time_zone": "Mars/Olympus"], "time_zone"), (["time_zone": 1], "time_zone"),
            (["flushable": "yes"], "flushable"),
        ] as [(DataObject, String)])
    func faults(configuration: DataObject, key: String) {
        let fault = #expect(throws: BarrierConfigurationFault.self) { try barrier(configuration) }
        #expect(fault?.key == key)
    }
}
