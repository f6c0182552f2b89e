import HeadgateCore
import HeadgateData

/// A scheduler whose clocks stand still until a test advances them, and whose turns end when the test ends them.
public final class ManualScheduler: Scheduler {
    public private(set) var now: Instant
    /// The wall clock. A test may make it jump.
    public var wall: Timestamp
    public private(set) var sinceBoot: Int64
    public private(set) var boot = "boot 1"
    private var boots = 1

    /// True if calls appear to come from the scheduler; false to act as another thread.
    public var isCurrent = true
    /// Called when code requires to be on the scheduler (Behaviour B11).
    public var onPrecondition: () -> Void = {}

    /// The work for the end of the present turn, by phase.
    private var waiting: [[() -> Void]] = TurnPhase.allCases.map { _ in [] }
    /// The work for the end of the next turn.
    private var next: [() -> Void] = []
    private var scheduled: [Int: (deadline: Instant, work: () -> Void)] = [:]
    private var nextKey = 0

    public init(
        now: Instant = Instant(nanoseconds: 1_000_000_000), wall: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)
    ) {
        self.now = now
        self.wall = wall
        sinceBoot = now.nanoseconds / 1_000_000
    }

    public func atEndOfTurn(_ phase: TurnPhase, _ work: @escaping () -> Void) {
        waiting[phase.rawValue].append(work)
    }

    public func nextTurn(_ work: @escaping () -> Void) {
        next.append(work)
    }

    public func schedule(at deadline: Instant, _ work: @escaping () -> Void) -> any Disposable {
        let key = nextKey
        nextKey += 1
        scheduled[key] = (deadline, work)
        return DisposeAction { [weak self] in self?.scheduled[key] = nil }
    }

    public func submit(_ work: @escaping @Sendable () -> Void) {
        soon(work)
    }

    public func preconditionOnScheduler() {
        onPrecondition()
    }

    /// Ends the turn and every turn that follows from it.
    public func settle() {
        repeat { endTurn() } while !isOver
    }

    private var isOver: Bool { waiting.allSatisfy(\.isEmpty) }

    /// Ends the turn. Work for the next turn's end is moved to that turn.
    public func endTurn() {
        while !isOver {
            for phase in waiting.indices {
                let work = waiting[phase]
                waiting[phase] = []
                for piece in work { piece() }
            }
        }
        waiting[TurnPhase.facts.rawValue] += next
        next = []
    }

    /// Advances both clocks, and stops at each deadline on the way.
    public func advance(by duration: Duration) {
        settle()
        let end = now + duration
        while let next = nextDeadline, next <= end {
            move(to: max(next, now))
            for key in due() { scheduled.removeValue(forKey: key)?.work() }
            settle()
        }
        move(to: end)
    }

    /// Simulates sleep of the machine: the monotonic clock stands still, the others advance.
    public func sleep(for duration: Duration) {
        sinceBoot += duration.wholeMilliseconds
        wall.milliseconds += duration.wholeMilliseconds
    }

    /// Simulates a restart of the process: all scheduled work is dropped, and the clocks continue.
    public func restart() {
        waiting = TurnPhase.allCases.map { _ in [] }
        next = []
        scheduled = [:]
    }

    /// Simulates a reboot after some time, in which the wall clock advanced. All scheduled work is dropped.
    public func reboot(after duration: Duration) {
        restart()
        boots += 1
        boot = "boot \(boots)"
        wall.milliseconds += duration.wholeMilliseconds
        now = Instant(nanoseconds: 1_000_000_000)
        sinceBoot = 1_000
    }

    /// The earliest deadline of scheduled work.
    public var nextDeadline: Instant? {
        scheduled.values.lazy.map(\.deadline).min()
    }

    private func due() -> [Int] {
        scheduled.filter { $0.value.deadline <= now }
            .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
            .map(\.key)
    }

    private func move(to instant: Instant) {
        // Each clock advances by whole milliseconds. Fractions are not lost, however often less than a millisecond
        // passes.
        let passed = instant.nanoseconds / 1_000_000 - now.nanoseconds / 1_000_000
        wall.milliseconds += passed
        sinceBoot += passed
        now = instant
    }
}
