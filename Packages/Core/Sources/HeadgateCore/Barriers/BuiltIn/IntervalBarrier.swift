import HeadgateData

/// A barrier that opens periodically for a while (Behaviour B25). It is flushable.
public final class IntervalBarrier: ConfigurableBarrier, BarrierJSON {
    public static let id = "IntervalBarrier"
    static let word = "interval"

    private let scheduler: any Scheduler
    private var cycle: IntervalCycle
    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var timer: (any Disposable)?

    init(context: BarrierContext, configuration: DataObject) throws {
        scheduler = context.scheduler
        cycle = IntervalCycle(settings: try IntervalSettings(configuration), start: scheduler.now)
        evaluate()
    }

    deinit {
        timer?.dispose()
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    /// Applies new settings. The intervals still count from the same start, so that frequent changes do not keep the
    /// barrier closed.
    public func updateConfiguration(_ configuration: DataObject) throws {
        cycle.settings = try IntervalSettings(configuration)
        evaluate()
    }

    private func evaluate() {
        timer?.dispose()
        timer = cycle.nextChange(after: scheduler.now).map { deadline in
            scheduler.schedule(at: deadline) { [weak self] in self?.evaluate() }
        }
        let isOpen = cycle.isOpen(at: scheduler.now)
        _state.value = isOpen ? .open : .closed
    }

    /// A factory of interval barriers. By default they apply to all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = IntervalSettings(reading: configuration)
            // `open_ms` without `interval_ms` is reported above.
            if configuration.item("open_ms") == nil { configuration.require("interval_ms") }
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> IntervalBarrier {
            try IntervalBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// The settings of an interval barrier.
public struct IntervalSettings: BarrierConfiguration, Equatable {
    /// The time from one opening to the next; nil if the barrier is always open.
    public var interval: Duration?
    /// The time for which the barrier stays open.
    public var open = Duration.seconds(1)

    /// Reads `{interval_ms, open_ms}`. Without either the barrier is always open.
    public init(reading reader: SettingsReader) {
        open = reader.milliseconds("open_ms") ?? open
        interval = reader.milliseconds("interval_ms")
        if reader.item("open_ms") != nil, reader.item("interval_ms") == nil {
            reader.fault("interval_ms", "", "is required with open_ms")
        }
        guard let interval, interval <= open else { return }
        reader.fault("interval_ms", "", "must be more than open_ms, which is 1000 by default")
    }
}

/// The openings of an interval barrier, counted from a start. The first is one interval after the start.
struct IntervalCycle: Equatable {
    var settings: IntervalSettings
    let start: Instant

    /// Returns true if the barrier is open at a moment.
    func isOpen(at now: Instant) -> Bool {
        guard let interval = settings.interval else { return true }
        return now - start >= interval && phase(at: now, interval) < settings.open
    }

    /// Returns the time of the next change, or nil if there is none.
    func nextChange(after now: Instant) -> Instant? {
        settings.interval.map { interval in
            let phase = phase(at: now, interval)
            return now + (isOpen(at: now) ? settings.open - phase : interval - phase)
        }
    }

    /// Returns the time since the last whole interval.
    private func phase(at now: Instant, _ interval: Duration) -> Duration {
        .nanoseconds((now - start).wholeNanoseconds % interval.wholeNanoseconds)
    }
}
