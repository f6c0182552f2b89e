import HeadgateCore
import HeadgateCoreTesting
import HeadgateData

@testable import HeadgateServer

/// A scheduler without an event loop. Time advances and turns end when the history says so, on the caller's thread.
final class SimulatedScheduler: Scheduler {
    private let clock = ManualScheduler()
    /// The sum of all changes of the wall clock, in milliseconds.
    private(set) var jumped: Int64 = 0
    /// The build time of the simulated program (Behaviour P7).
    static let builtAt = Timestamp(milliseconds: 1_790_000_000_000)

    /// The error of a clock that is far ahead, in milliseconds: ten years.
    static let yearsAhead: Int64 = 3_650 * 24 * 3_600_000

    var now: Instant { clock.now }
    var wall: Timestamp { clock.wall }
    var sinceBoot: Int64 { clock.sinceBoot }
    var boot: String { clock.boot }
    var isCurrent: Bool { true }
    /// The wall time without any change of the clock.
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

    /// Ends the turn, phase by phase. Work submitted meanwhile waits for the end of the next turn.
    func endTurn() {
        clock.endTurn()
    }

    /// Advances both clocks, and runs everything that becomes due.
    func advance(by duration: Duration) {
        clock.advance(by: duration)
    }

    /// Ends the process and drops its pending work.
    func restart() {
        clock.restart()
    }

    /// Reboots the machine after a time without power.
    func reboot(after duration: Duration) {
        clock.reboot(after: duration)
    }

    /// Sets a wrong wall clock after a boot, as on a board without a battery. Returns the displayed time.
    func upsetClock(_ record: Record) -> Timestamp {
        let hour: Int64 = 3_600_000
        let wall = wall.milliseconds
        jump(
            by: record.pick([
                5_000, SimulatedScheduler.builtAt.milliseconds - 24 * hour, wall - hour, wall + 8 * hour,
                wall + SimulatedScheduler.yearsAhead,
            ]) - wall)
        return self.wall
    }

    /// Lets the machine sleep.
    func sleep(for duration: Duration) {
        clock.sleep(for: duration)
    }

    /// Changes the wall clock.
    func jump(by milliseconds: Int64) {
        clock.wall.milliseconds += milliseconds
        jumped += milliseconds
    }
}
