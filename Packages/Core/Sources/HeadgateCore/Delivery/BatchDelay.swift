/// A short wait for more events after an answer, while less than a full batch is pending. A request costs the same for
/// few and many events, and more may arrive while it is in flight (decision 59).
struct BatchDelay {
    /// The longest wait.
    static let longest = Duration.milliseconds(1)

    private var timer: (any Disposable)?

    /// True while a wait is running.
    var isInProgress: Bool { timer != nil }

    /// Begins a wait, unless one has begun. `then` is called when the time is over, but not after ``end()``.
    mutating func begin(on scheduler: any Scheduler, then: @escaping () -> Void) {
        guard timer == nil else { return }
        timer = scheduler.schedule(at: scheduler.now + BatchDelay.longest, then)
    }

    mutating func end() {
        timer?.dispose()
        timer = nil
    }
}
