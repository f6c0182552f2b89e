/// Calls its handler on the scheduler after a time, again and again or once, from ``resume()`` to ``suspend()``.
///
/// It lives on the scheduler and does nothing once nobody holds it. A handler that comes late is not called twice to catch
/// up.
public final class RepeatingTimer {
    /// How often the handler is called.
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
    private var alarm: (any Disposable)?

    /// A timer that rests until it is resumed.
    /// - Parameters:
    ///   - interval: the time to the first call and between calls; at least a millisecond.
    ///   - queue: the scheduler's.
    public init(
        interval: Duration, repeating: Repeating = .always, queue: SchedulerQueue, handler: @escaping () -> Void
    ) {
        self.interval = max(interval, .milliseconds(1))
        self.repeating = repeating
        self.queue = queue
        self.handler = handler
    }

    /// A timer of so many seconds, which are held between a millisecond and a hundred years.
    public convenience init(
        timeInterval: Double, repeating: Repeating = .always, queue: SchedulerQueue, handler: @escaping () -> Void
    ) {
        // Written so that what is no number becomes the shortest time.
        let seconds = timeInterval > 0.001 ? min(timeInterval, RepeatingTimer.longest) : 0.001
        self.init(interval: .seconds(seconds), repeating: repeating, queue: queue, handler: handler)
    }

    deinit {
        alarm?.dispose()
    }

    /// Begins a whole interval. While one is under way, nothing changes.
    public func resume() {
        if alarm == nil { arm() }
    }

    /// Stops until it is resumed.
    public func suspend() {
        alarm?.dispose()
        alarm = nil
    }

    private func arm() {
        alarm = queue.schedule(after: interval) { [weak self] in self?.fire() }
    }

    private func fire() {
        alarm = nil
        // Before the handler, which may suspend the timer.
        if repeating == .always { arm() }
        handler()
    }

    private static let longest = 100 * 365.0 * 86_400
}
