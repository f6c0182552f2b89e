/// A timer that calls its handler on the scheduler after an interval, repeatedly or once, between ``resume()`` and
/// ``suspend()``.
///
/// A timer lives on the scheduler, and stops when it is released. A call that comes late is not made up for.
public final class RepeatingTimer {
    /// The number of calls of the handler.
    public enum Repeating: Sendable {
        /// After each interval.
        case always
        /// After the first interval only.
        case never
    }

    private let interval: Duration
    private let repeating: Repeating
    private let queue: SchedulerQueue
    private let handler: () -> Void
    private var timer: (any Disposable)?

    /// Creates a suspended timer.
    /// - Parameters:
    ///   - interval: the time to the first call and between calls, at least a millisecond.
    ///   - repeating: whether the handler is called after each interval or only once.
    ///   - queue: the scheduler's queue.
    ///   - handler: the closure to call.
    public init(
        interval: Duration, repeating: Repeating = .always, queue: SchedulerQueue, handler: @escaping () -> Void
    ) {
        self.interval = max(interval, .milliseconds(1))
        self.repeating = repeating
        self.queue = queue
        self.handler = handler
    }

    /// Creates a suspended timer with an interval in seconds, limited to between a millisecond and a hundred years.
    public convenience init(
        timeInterval: Double, repeating: Repeating = .always, queue: SchedulerQueue, handler: @escaping () -> Void
    ) {
        // The comparison turns NaN into the shortest interval.
        let seconds = timeInterval > 0.001 ? min(timeInterval, RepeatingTimer.longest) : 0.001
        self.init(interval: .seconds(seconds), repeating: repeating, queue: queue, handler: handler)
    }

    deinit {
        timer?.dispose()
    }

    /// Begins an interval, unless one has begun.
    public func resume() {
        if timer == nil { arm() }
    }

    /// Stops the timer until it is resumed.
    public func suspend() {
        timer?.dispose()
        timer = nil
    }

    private func arm() {
        timer = queue.schedule(after: interval) { [weak self] in self?.fire() }
    }

    private func fire() {
        timer = nil
        // Schedule the next call before the handler, which may suspend the timer.
        if repeating == .always { arm() }
        handler()
    }

    private static let longest = 100 * 365.0 * 86_400
}
