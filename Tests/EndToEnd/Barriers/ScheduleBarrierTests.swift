import Foundation
import Testing

/// The ScheduleBarrier, with hours relative to the present one in UTC.
@Suite struct ScheduleBarrierTests {
    @Test("B24: outside its hours the barrier blocks even a flush, and changing the hours opens it")
    func outsideItsHours() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(configuration(collector, Self.laterToday))
            let ids = try await daemon.track(1...2)
            let barrier = try await daemon.barrier("ScheduleBarrier")
            #expect(barrier.contains(["word": "schedule", "flushable": false, "states": ["collect": "closed"]]))
            let answer = try await daemon.ask("flush", ["wait": true, "timeout_ms": 200])
            #expect(answer["ended"] == "timeout")
            #expect(answer["dispatchers"]["collect"].contains(["left": 2, "blocked_by": ["ScheduleBarrier"]]))
            #expect(collector.acceptedIDs.isEmpty)

            try await daemon.reload(configuration(collector, Self.aroundNow))
            #expect(try await collector.acceptedIDs(atLeast: 2) == ids)
        }
    }

    @Test("B24: a flush passes the barrier if it is configured as flushable")
    func flushable() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let hours = Self.laterToday.merging(["flushable": true])
            let daemon = try await scene.daemon(configuration(collector, hours))
            let ids = try await daemon.track(1...2)
            #expect(try await daemon.dispatcher()["blocked_by"] == ["ScheduleBarrier"])
            #expect(try await daemon.ask("flush", ["wait": true])["ended"] == "settled")
            #expect(collector.acceptedIDs == ids)
        }
    }

    @Test("B24: the barrier is open only on its days")
    func days() async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            // Yesterday, today and tomorrow, since midnight may pass during the test.
            let near = [-1, 0, 1].map { Self.day(after: $0) }
            let far = Self.allDays.filter { !near.contains($0) }
            let hours: JSON = ["start_hour": 0, "end_hour": 24, "time_zone": "UTC"]
            let daemon = try await scene.daemon(
                configuration(collector, hours.merging(["days": JSON(far)])))
            try await daemon.track(1...1)
            #expect(try await daemon.dispatcher().contains(["state": "blocked", "blocked_by": ["ScheduleBarrier"]]))
            try await daemon.reload(configuration(collector, hours.merging(["days": JSON(near)])))
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    @Test(
        "B24, S2: invalid hours, days and time zones are errors",
        arguments: [
            ["start_hour": 24, "end_hour": 25], ["start_hour": -1, "end_hour": 3],
            ["start_hour": 9, "end_hour": "late"],
            ["start_hour": 9, "end_hour": 17, "days": ["someday"]],
            ["start_hour": 9, "end_hour": 17, "time_zone": "Europe/Nowhere"],
        ] as [JSON])
    func faults(hours: JSON) async throws {
        try await withScene { scene in
            let collector = try scene.collector()
            let daemon = try await scene.daemon(sendingTo: collector)
            let faults = try await daemon.refusedReload(configuration(collector, hours))
            let prefix = "barriers.ScheduleBarrier.configuration."
            #expect(faults.contains { $0["path"].string?.hasPrefix(prefix) == true }, "\(faults)")
            try await daemon.track(1...1)
            #expect(try await collector.acceptedIDs(atLeast: 1) == ["e1"])
        }
    }

    /// A window that begins in more than an hour, and ends long before the present hour comes again.
    private static var laterToday: JSON { window(from: 2, to: 3) }

    /// A window around the present time, with an hour to spare on both sides. It may cross midnight.
    private static var aroundNow: JSON { window(from: -1, to: 2) }

    private static func window(from: Int, to: Int) -> JSON {
        let hour = calendar.component(.hour, from: Date())
        return [
            "start_hour": JSON((hour + from + 24) % 24), "end_hour": JSON((hour + to) % 24), "time_zone": "UTC",
        ]
    }

    private static let allDays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    private static func day(after days: Int) -> String {
        allDays[calendar.component(.weekday, from: Date() + Double(days) * 86_400) - 1]
    }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    private func configuration(_ collector: Collector, _ hours: JSON) -> JSON {
        [
            "dispatchers": ["collect": collector.dispatcher()],
            "barriers": ["ScheduleBarrier": ["scopes": ["collect"], "configuration": hours]],
        ]
    }
}
