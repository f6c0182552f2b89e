import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("Jumps of the wall clock")
struct ClockJumpTests {
    private static let year: Int64 = 365 * 86_400_000

    @Test(
        "P7: a jump expires no events, fires no timer early, and leaves no event stuck", arguments: [year, -year])
    func jump(by milliseconds: Int64) throws {
        var limits = StoreLimits()
        limits.maxAge = .seconds(3600)
        let bench = GateBench(limits: limits) { _ in }
        try bench.gate.barriers.configure(
            id: "b", kind: "BatchingBarrier", scopes: nil, configuration: ["batch_size": 9, "max_wait_ms": 60_000])
        bench.track(1, EventDraft(id: "one", timeToLive: .seconds(1800)))
        bench.track(1)
        bench.scheduler.wall.milliseconds += milliseconds
        bench.advance(by: .milliseconds(59_999))
        #expect(bench.counters[.expired] == 0)
        #expect(bench.sender.sent.isEmpty)
        bench.advance(by: .milliseconds(1))
        #expect(bench.sender.sent == [[1, 2]])
        bench.sender.answer(.status(503, retryAfter: .seconds(60)))
        bench.scheduler.wall.milliseconds += milliseconds
        bench.advance(by: .milliseconds(59_999))
        #expect(bench.sender.sent.count == 1)
        bench.advance(by: .milliseconds(1))
        // The barrier is evaluated again: both events are older than its wait.
        #expect(bench.sender.sent == [[1, 2], [1, 2]])
        bench.sender.answer(.status(503))
        bench.settle()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.advance(by: .seconds(1680))
        #expect(bench.counters[.expired] == 1)
        bench.advance(by: .seconds(1800))
        #expect(bench.counters[.expired] == 2)
        #expect(bench.track(EventDraft(id: "one")) == .duplicate(1))
    }

    @Test("P7: flushes end on time", arguments: [year, -year])
    func flush(by milliseconds: Int64) {
        let bench = GateBench()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1)
        var ended: FlushAnswer.End?
        _ = bench.gate.flush(timeout: .seconds(30)) { ended = $0.ended }
        bench.scheduler.wall.milliseconds += milliseconds
        bench.advance(by: .milliseconds(29_999))
        #expect(ended == nil)
        bench.advance(by: .milliseconds(1))
        #expect(ended == .timeout)
    }

    @Test("P7: an event has the wall time of its receipt")
    func reported() {
        let bench = GateBench()
        bench.scheduler.wall = Timestamp(milliseconds: 0)
        bench.track(1)
        let body = String(decoding: bench.sender.batches[0].body, as: UTF8.self)
        #expect(body.contains(#""received_at":"1970-01-01T00:00:00.000Z""#))
    }

    @Test("P7: ages continue across a restart")
    func overRestart() throws {
        let bench = GateBench()
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.track(1, EventDraft(timeToLive: .seconds(100)))
        bench.advance(by: .seconds(60))
        try bench.restart()
        bench.advance(by: .milliseconds(39_999))
        #expect(bench.counters[.expired] == 0)
        bench.advance(by: .milliseconds(1))
        #expect(bench.counters[.expired] == 1)
    }

    // MARK: Restarts

    private static let days40: Int64 = 40 * 86_400_000

    private func held(_ bench: GateBench) {
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
    }

    @Test(
        "P7: correcting a slow clock at run time does not expire events at a later start",
        arguments: [false, true])
    func wasBehind(isRebooted: Bool) throws {
        var limits = StoreLimits()
        limits.maxAge = .seconds(7_200)
        let bench = GateBench(limits: limits) { _ in }
        held(bench)
        bench.track(1)
        bench.scheduler.wall.milliseconds += ClockJumpTests.days40
        bench.track(1)
        if isRebooted { bench.scheduler.reboot(after: .seconds(3_600)) }
        try bench.restart()
        #expect(bench.counters[.expired] == 0 && bench.gate.stored.events == 2)
        bench.advance(by: .seconds(isRebooted ? 3_599 : 7_199))
        #expect(bench.counters[.expired] == 0)
        bench.advance(by: .seconds(1))
        #expect(bench.counters[.expired] == 2)
    }

    @Test("P7: a corrected clock is recorded within a minute, even without other activity")
    func wasBehindAndIdle() throws {
        let bench = GateBench()
        held(bench)
        bench.track(1)
        bench.scheduler.wall.milliseconds += ClockJumpTests.days40
        bench.advance(by: .seconds(60))
        bench.scheduler.reboot(after: .seconds(10))
        try bench.restart()
        #expect(bench.counters[.expired] == 0 && bench.summary().oldest == .seconds(70))
    }

    @Test("P7: a clock that was ahead does not prolong a time to live", arguments: [false, true])
    func wasAhead(isRebooted: Bool) throws {
        let bench = GateBench()
        held(bench)
        bench.track(1, EventDraft(timeToLive: .seconds(5)))
        bench.advance(by: .seconds(2))
        bench.scheduler.wall.milliseconds -= ClockJumpTests.days40
        if isRebooted { bench.scheduler.reboot(after: .zero) }
        try bench.restart()
        bench.advance(by: .milliseconds(2_999))
        #expect(bench.counters[.expired] == 0)
        bench.advance(by: .milliseconds(isRebooted ? 2_001 : 1))
        #expect(bench.counters[.expired] == 1)
    }

    @Test("P7: without stored clock data ages continue at least from the newest event")
    func nothingKept() throws {
        let bench = GateBench()
        held(bench)
        bench.track(1, EventDraft(timeToLive: .seconds(5)))
        bench.scheduler.wall.milliseconds -= ClockJumpTests.days40
        var state = try bench.store.open()
        state.kept = [:]
        let queue = EventQueue(scheduler: bench.scheduler, store: bench.store, limits: bench.limits, state: state)
        #expect(queue.presentStamp() == bench.gate.events.presentStamp())
        state.newestStamp = .max
        let other = EventQueue(scheduler: bench.scheduler, store: bench.store, limits: bench.limits, state: state)
        #expect(other.presentStamp() == bench.scheduler.wall.milliseconds)
    }

    // MARK: Clocks that are not set

    private static let built = Timestamp(milliseconds: 1_790_000_000_000)
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func board(startingAt wall: Timestamp) -> GateBench {
        var limits = StoreLimits()
        limits.maxAge = .seconds(3_600)
        let bench = GateBench(limits: limits, wall: wall, environment: { $0.builtAt = ClockJumpTests.built })
        held(bench)
        return bench
    }

    private func boot(_ bench: GateBench, at wall: Timestamp) throws {
        bench.scheduler.reboot(after: .zero)
        bench.scheduler.wall = wall
        try bench.restart()
    }

    @Test("P7: a boot with a clock that is behind ages no event, and neither does the later correction")
    func withoutBattery() throws {
        let bench = board(startingAt: ClockJumpTests.now)
        for number in 1...5 { bench.track(1, EventDraft(id: "\(number)")) }
        for wall in [0, ClockJumpTests.built.milliseconds - 100_000, ClockJumpTests.now.milliseconds - 3_600_000] {
            try boot(bench, at: Timestamp(milliseconds: wall))
            bench.track(1)
            bench.advance(by: .seconds(60))
            #expect(bench.gate.warnings.count == 1)
        }
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + 1_000_000))
        #expect(bench.counters[.expired] == 0 && bench.gate.stored.events == 8)
        #expect(bench.summary().oldest == .seconds(1_000) && bench.gate.warnings.isEmpty)
        #expect(bench.track(EventDraft(id: "1")) == .duplicate(1))
    }

    @Test("P7: after a first boot in 1970 the first correct clock ages no event", arguments: [false, true])
    func firstBootWithoutClock(isSetWhileRunning: Bool) throws {
        let bench = board(startingAt: Timestamp(milliseconds: 0))
        bench.track(1)
        bench.advance(by: .seconds(60))
        if isSetWhileRunning {
            bench.scheduler.wall = ClockJumpTests.now
            bench.track(1)
            #expect(bench.gate.warnings.isEmpty)
        }
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + 100_000))
        #expect(bench.counters[.expired] == 0 && bench.summary().oldest == .seconds(isSetWhileRunning ? 160 : 60))
    }

    @Test("P7: after a boot far in the future a correct clock changes no event's age")
    func farAhead() throws {
        let bench = board(startingAt: ClockJumpTests.now)
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + ClockJumpTests.year))
        bench.track(1)
        bench.advance(by: .seconds(60))
        for passed in [1, 2] as [Int64] {
            let wall = ClockJumpTests.now.milliseconds + passed * ClockJumpTests.days40
            try boot(bench, at: Timestamp(milliseconds: wall))
            #expect(bench.gate.warnings.count == 1)
            bench.advance(by: .seconds(60))
        }
        #expect(bench.counters[.expired] == 0 && bench.summary().oldest == .seconds(180))
    }

    @Test(
        "P7: one boot with a clock years ahead ages no event, and has no effect once the clock is right again",
        arguments: [2, 10, 270])
    func yearsAhead(years: Int64) throws {
        let bench = board(startingAt: ClockJumpTests.now)
        for number in 1...5 { bench.track(1, EventDraft(id: "\(number)")) }
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + years * ClockJumpTests.year))
        bench.track(1)
        bench.advance(by: .seconds(60))
        #expect(bench.counters[.expired] == 0 && bench.summary().oldest == .seconds(60))
        #expect(bench.gate.warnings.first?.description.contains("long after") == true)
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + 600_000))
        #expect(bench.counters[.expired] == 0 && bench.gate.stored.events == 6)
        #expect(bench.summary().oldest == .seconds(600) && bench.gate.warnings.isEmpty)
        #expect(bench.track(EventDraft(id: "1")) == .duplicate(1))
    }

    @Test("P7: a clock years ahead counts as set when a second boot agrees, and ages count from the first one")
    func reallyYearsLater() throws {
        let bench = board(startingAt: ClockJumpTests.now)
        bench.track(1)
        let later = ClockJumpTests.now.milliseconds + 3 * ClockJumpTests.year
        try boot(bench, at: Timestamp(milliseconds: later))
        bench.advance(by: .seconds(60))
        // A restart within the same boot does not confirm the clock.
        try bench.restart()
        #expect(bench.gate.warnings.count == 1 && bench.summary().oldest == .seconds(60))
        try boot(bench, at: Timestamp(milliseconds: later + 160_000))
        #expect(bench.gate.warnings.isEmpty && bench.summary().oldest == .seconds(160))
        try boot(bench, at: Timestamp(milliseconds: later + 260_000))
        #expect(bench.gate.warnings.isEmpty && bench.summary().oldest == .seconds(260))
    }

    @Test("P7: a first boot with a clock years after the build has no effect once the clock is right")
    func firstBootYearsAhead() throws {
        let bench = board(
            startingAt: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + 10 * ClockJumpTests.year))
        bench.track(1)
        bench.advance(by: .seconds(60))
        #expect(bench.gate.warnings.count == 1)
        try boot(bench, at: ClockJumpTests.now)
        bench.advance(by: .seconds(60))
        #expect(bench.gate.warnings.isEmpty && bench.summary().oldest == .seconds(120))
        try boot(bench, at: Timestamp(milliseconds: ClockJumpTests.now.milliseconds + 100_000))
        #expect(bench.gate.warnings.isEmpty && bench.summary().oldest == .seconds(160))
    }

    @Test("P7: time in which the machine sleeps ages the stored events, but not later ones")
    func asleep() {
        let bench = GateBench()
        held(bench)
        bench.track(1, EventDraft(id: "old", timeToLive: .seconds(3_600)))
        bench.scheduler.sleep(for: .seconds(7_200))
        bench.track(1, EventDraft(timeToLive: .seconds(100)))
        #expect(bench.counters[.expired] == 1)
        bench.advance(by: .milliseconds(99_999))
        #expect(bench.counters[.expired] == 1)
        bench.advance(by: .milliseconds(1))
        #expect(bench.counters[.expired] == 2)
        bench.scheduler.sleep(for: .seconds(86_400))
        #expect(bench.track(EventDraft(id: "old")) == .stored(3))
    }
}
