import HeadgateCore
import HeadgateCoreTesting
import HeadgateData

@testable import HeadgateServer

/// A service's scheduler without a loop: time passes and turns end when the history says so, on the caller's thread.
final class SimulatedScheduler: Scheduler {
    private let clock = ManualScheduler()
    /// By how much the wall clock was set, in all.
    private(set) var jumped: Int64 = 0
    /// When the simulated program was built (Behaviour P7).
    static let builtAt = Timestamp(milliseconds: 1_790_000_000_000)

    var now: Instant { clock.now }
    var wall: Timestamp { clock.wall }
    var sinceBoot: Int64 { clock.sinceBoot }
    var boot: String { clock.boot }
    var isCurrent: Bool { true }
    /// What the wall clock would say if nobody had ever set it.
    var trueTime: Int64 { wall.milliseconds - jumped }

    func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        clock.atEndOfTurn(phase, work)
    }

    func nextTurn(_ work: @escaping () -> Void) {
        clock.nextTurn(work)
    }

    func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        clock.schedule(at: deadline, work)
    }

    func submit(_ work: @escaping @Sendable () -> Void) {
        clock.submit(work)
    }

    func preconditionOnScheduler() {}

    /// Ends the turn, phase by phase. What waits for the next turn's end is put there.
    func endTurn() {
        clock.endTurn()
    }

    /// Moves both clocks, and does on the way what is due, with all that follows from it.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }

    /// The process is gone, and all that was to happen with it.
    func restart() {
        clock.restart()
    }

    /// The machine is without power for a while.
    func reboot(after duration: Duration) {
        clock.reboot(after: duration)
    }

    /// The wall clock comes up wrong after a boot, as on a board without a battery. Returns the time that it shows.
    func upsetClock(_ record: Record) -> Timestamp {
        let hour: Int64 = 3_600_000
        let wall = wall.milliseconds
        jump(
            by: record.pick([5_000, SimulatedScheduler.builtAt.milliseconds - 24 * hour, wall - hour, wall + 8 * hour])
                - wall)
        return self.wall
    }

    /// The machine sleeps.
    func sleep(for duration: Duration) {
        clock.sleep(for: duration)
    }

    /// The wall clock is set to another time.
    func jump(by milliseconds: Int64) {
        clock.wall.milliseconds += milliseconds
        jumped += milliseconds
    }
}
