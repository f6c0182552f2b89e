import HeadgateCoreTesting
import HeadgateData
import Testing

@testable import HeadgateCore

@Suite("The age scale across restarts and reboots")
struct AgeScaleTests {
    @Test(
        "P7: ages follow true time across stops, reboots and jumps of the clocks",
        arguments: 1...10 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        let run = ClockRun(seed: seed)
        for _ in 1...200 { try run.step() }
    }
}

/// A gate whose machine sleeps and reboots, whose process crashes, and whose wall clock jumps.
private final class ClockRun {
    private let bench = GateBench()
    private let seed: UInt64
    private var random: SeededRandom
    /// The expected present stamp.
    private var stamp: Int64
    /// The newest stamp given to an event. Later stamps must not be less.
    private var newest: Int64 = .min
    /// The newest wall time that counted as set. The stored value may be up to a minute older.
    private var newestWall: Int64
    /// The difference between wall time and stamp when the newest wall time was seen.
    private var distance: Int64
    /// The newest wall time that was too far ahead to count as set, with its difference to the stamp.
    private var doubt: Doubt?
    /// The value of `doubt` from the previous boot, or nil if there was none.
    private var former: Doubt?

    private typealias Doubt = (wall: Int64, distance: Int64)
    private static let day: Int64 = 86_400_000

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        _ = bench.gate.pause("collect", reason: nil, isFlushable: false) { _ in }
        bench.settle()
        stamp = bench.gate.events.presentStamp()
        newestWall = bench.scheduler.wall.milliseconds
        distance = newestWall - stamp
    }

    func step() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<4: pass(Int64.random(in: 1...200_000, using: &random)) { bench.advance(by: $0) }
        case 4:
            pass(Int64.random(in: 10...10_000_000, using: &random)) { bench.scheduler.sleep(for: $0) }
            // The pair of wall time and stamp is stored every minute that the machine is awake.
            pass(60_000) { bench.advance(by: $0) }
        case 5, 6: jump()
        case 7:
            try bench.restart()
            former = nil
        case 8: try reboot()
        default: track()
        }
        #expect(bench.gate.events.presentStamp() == stamp, "seed \(seed)")
        note()
    }

    private func note() {
        let wall = bench.scheduler.wall.milliseconds
        guard wall > newestWall else { return }
        if believes(wall, after: newestWall) || former.map({ believes(wall, after: $0.wall) }) == true {
            (newestWall, distance, doubt) = (wall, wall - stamp, nil)
        } else {
            doubt = (wall, wall - stamp)
        }
    }

    /// Returns true if one boot alone proves that the clock advanced from `other` to `wall`: by at most 400 days.
    private func believes(_ wall: Int64, after other: Int64) -> Bool {
        (1...400 * ClockRun.day).contains(wall - other)
    }

    private func pass(_ milliseconds: Int64, _ move: (Duration) -> Void) {
        move(.milliseconds(milliseconds))
        stamp += milliseconds
    }

    private func track() {
        bench.track(1)
        newest = max(newest, stamp)
    }

    private func jump() {
        let year: Int64 = 365 * 86_400_000
        let far = Int64.random(in: -year...year, using: &random)
        bench.scheduler.wall.milliseconds += random.oneIn(2) ? far : (far < 0 ? -1 : 1) * (1_000 + abs(far) % 10_000)
        note()
        // The jump is stored with the next event, or within a minute if there is none.
        if random.oneIn(2) { track() } else { pass(60_000) { bench.advance(by: $0) } }
    }

    private func reboot() throws {
        let before = bench.scheduler.wall.milliseconds
        bench.scheduler.reboot(after: .milliseconds(Int64.random(in: 0...100_000_000, using: &random)))
        // The clock may be behind after the reboot, so that it counts as not set.
        if random.oneIn(3) {
            bench.scheduler.wall.milliseconds = before - Int64.random(in: 60_000...1 << 40, using: &random)
        } else if random.oneIn(4) {
            bench.scheduler.wall.milliseconds = before + Int64.random(in: 800...8_000, using: &random) * ClockRun.day
        }
        let wall = bench.scheduler.wall.milliseconds
        try bench.restart()
        former = doubt
        let present = bench.gate.events.presentStamp()
        guard wall <= newestWall || believes(wall, after: newestWall) else { return farAhead(wall, present) }
        // A clock that counts as set continues from the newest time. Otherwise the last minute may be lost.
        let isSet = wall > newestWall && wall - distance >= stamp
        let least = max(newest, isSet ? wall - distance : stamp - 61_000)
        let most = wall > newestWall - 61_000 ? max(stamp, wall - distance) : stamp
        #expect((least...max(least, most)).contains(present), "seed \(seed): \(present) is not in \(least)...\(most)")
        stamp = present
    }

    /// Checks the scale after a boot whose clock is far ahead. Time has passed only if an earlier boot's clock agrees.
    private func farAhead(_ wall: Int64, _ present: Int64) {
        let passed = former.flatMap { believes(wall, after: $0.wall) ? wall - $0.distance : nil }
        let least = max(newest, (passed ?? stamp) - 61_000)
        let most = max(stamp, passed ?? stamp)
        #expect((least...max(least, most)).contains(present), "seed \(seed): \(present) is not in \(least)...\(most)")
        stamp = present
    }
}
