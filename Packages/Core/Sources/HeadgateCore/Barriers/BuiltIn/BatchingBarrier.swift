import HeadgateData

/// A barrier that blocks a dispatcher until enough of its dispatches are pending, or the oldest is old enough
/// (Behaviour B22).
public final class BatchingBarrier: ConfigurableBarrier, BarrierJSON {
    public static let id = "BatchingBarrier"
    static let word = "batching"

    private let context: BarrierContext
    private let settings: StateSubject<BatchingSettings>

    init(context: BarrierContext, configuration: DataObject) throws {
        self.context = context
        settings = StateSubject(try BatchingSettings(configuration))
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        Observable { [context, settings] observer in
            BatchingWatch(
                scheduler: context.scheduler, settings: settings.wrappedValue,
                depth: context.queues.onDepth(for: dispatcherId), observer: observer)
        }.distinct()
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        settings.value = try BatchingSettings(configuration)
    }

    /// A factory of batching barriers. By default they apply to `collect`.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.dispatcher(id: "collect")]) {
            scopes = defaultScopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = BatchingSettings(reading: configuration)
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> BatchingBarrier {
            try BatchingBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// The settings of a batching barrier: the number of dispatches, and the longest wait of the first.
public struct BatchingSettings: BarrierConfiguration, Equatable {
    public var batchSize = 1
    /// The longest wait of the oldest dispatch; nil for no limit.
    public var maxWait: Duration?

    public init() {}

    /// Reads `{batch_size, max_wait_ms}`. A size below 1 counts as 1.
    public init(reading reader: SettingsReader) {
        batchSize = max(1, reader.integer("batch_size") ?? batchSize)
        maxWait = reader.milliseconds("max_wait_ms")
    }

    /// Returns true if the barrier is open at a queue depth.
    func isOpen(for depth: QueueDepth, at now: Instant) -> Bool {
        if depth.pending >= min(batchSize, depth.dispatchLimit) { return true }
        guard depth.pending > 0, let deadline = deadline(for: depth) else { return false }
        return deadline <= now
    }

    /// Returns the time at which the oldest dispatch has waited long enough, or nil if there is no limit or no
    /// dispatch.
    func deadline(for depth: QueueDepth) -> Instant? {
        guard let maxWait, let oldest = depth.oldestSince, depth.pending > 0 else { return nil }
        return oldest + maxWait
    }
}

/// The observation of one dispatcher's queue for one observer of a batching barrier.
private final class BatchingWatch: Disposable {
    private let scheduler: any Scheduler
    private let observer: (BarrierState) -> Void
    private let settings: ObservableState<BatchingSettings>
    private var depth = QueueDepth(pending: 0, oldestSince: nil, dispatchLimit: 1)
    private var subscriptions: [any Disposable] = []
    private var timer: (any Disposable)?

    init(
        scheduler: any Scheduler, settings: ObservableState<BatchingSettings>, depth: Observable<QueueDepth>,
        observer: @escaping (BarrierState) -> Void
    ) {
        self.scheduler = scheduler
        self.settings = settings
        self.observer = observer
        let ofDepth = depth.subscribe { [weak self] in
            self?.depth = $0
            self?.judge()
        }
        let ofSettings = settings.subscribe { [weak self] _ in self?.judge() }
        subscriptions = [ofDepth, ofSettings]
    }

    func dispose() {
        for subscription in subscriptions { subscription.dispose() }
        timer?.dispose()
    }

    private func judge() {
        timer?.dispose()
        timer = nil
        let isOpen = settings.value.isOpen(for: depth, at: scheduler.now)
        if !isOpen, let deadline = settings.value.deadline(for: depth) {
            timer = scheduler.schedule(at: deadline) { [weak self] in self?.judge() }
        }
        observer(isOpen ? .open : .closed)
    }
}
