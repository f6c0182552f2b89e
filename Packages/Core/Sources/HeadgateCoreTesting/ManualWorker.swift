import HeadgateCore
import HeadgateData

/// A worker whose time stands still until a test moves it, and whose turns end when a test says so.
public final class ManualWorker: Worker {
    public private(set) var now: Instant
    /// The wall clock, which a test may make jump.
    public var wall: Timestamp

    /// Whether calls seem to come from the worker; false plays another thread.
    public var isCurrent = true
    /// Called where the code insists on being on the worker (Behaviour B11).
    public var onPrecondition: () -> Void = {}

    private var waiting: [() -> Void] = []
    private var scheduled: [Int: (deadline: Instant, work: () -> Void)] = [:]
    private var nextKey = 0

    public init(
        now: Instant = Instant(nanoseconds: 1_000_000_000), wall: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)
    ) {
        self.now = now
        self.wall = wall
    }

    public func soon(_ work: @escaping () -> Void) {
        waiting.append(work)
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

    public func preconditionOnWorker() {
        onPrecondition()
    }

    /// Ends the turn, and every turn that follows from it.
    public func settle() {
        while !waiting.isEmpty {
            let work = waiting
            waiting = []
            for piece in work { piece() }
        }
    }

    /// Moves both clocks, stopping at each deadline on the way.
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

    /// The next moment at which something would happen by itself.
    public var nextDeadline: Instant? {
        scheduled.values.lazy.map(\.deadline).min()
    }

    private func due() -> [Int] {
        scheduled.filter { $0.value.deadline <= now }
            .sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
            .map(\.key)
    }

    private func move(to instant: Instant) {
        wall.milliseconds += (instant - now).wholeMilliseconds
        now = instant
    }
}
