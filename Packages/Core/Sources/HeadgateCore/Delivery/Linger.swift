/// The time for which few events wait for more behind an answer, until they are a whole batch: a request costs the same whatever
/// it holds, and while one is on its way others come (decision 59).
struct Linger {
    /// No longer than this.
    static let longest = Duration.milliseconds(1)

    private var alarm: (any Disposable)?

    /// Whether events wait for more.
    var isUnderWay: Bool { alarm != nil }

    /// Begins, unless it has begun. `then` is called when the time is over; what ends it sooner says so.
    mutating func begin(on scheduler: any Scheduler, then: @escaping () -> Void) {
        guard alarm == nil else { return }
        alarm = scheduler.schedule(at: scheduler.now + Linger.longest, then)
    }

    mutating func end() {
        alarm?.dispose()
        alarm = nil
    }
}
