import HeadgateData

/// Holds a dispatcher while more went to it than it may get (Behaviour B27): each has a bucket of tokens of its own.
///
/// The way is open while there is a whole token. A batch takes all that Behaviour D1 allows, also more tokens than there
/// are; the debt is waited for. So the rate holds in the long run, and `dispatch_limit` bounds what goes beyond it.
public final class RateBarrier: ConfigurableBarrier, DescribedBarrier, WordedBarrier {
    public static let id = "RateBarrier"
    static let word = "rate"

    private let context: BarrierContext
    private var settings: RateSettings
    private var meters: [String: RateMeter] = [:]
    @StateSubject(false) private var flushability: ObservableState<Bool>

    init(context: BarrierContext, configuration: DataObject) throws {
        self.context = context
        settings = try RateSettings(configuration)
        _flushability.value = settings.isFlushable
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        meter(of: dispatcherId).state
    }

    public var isFlushable: Observable<Bool> {
        flushability
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        settings = try RateSettings(configuration)
        _flushability.value = settings.isFlushable
        for meter in meters.values { meter.change(to: settings) }
    }

    public func reason(for dispatcherId: String) -> String? {
        guard let rate = settings.perSecond, meters[dispatcherId]?.state.value == .closed else { return nil }
        return "more than \(DataNumber(rate).int.map(String.init) ?? String(rate)) a second"
    }

    /// A dispatcher's meter, which stays when it leaves the scope, so that going in and out brings no tokens.
    private func meter(of dispatcherId: String) -> RateMeter {
        if let meter = meters[dispatcherId] { return meter }
        let meter = RateMeter(
            settings, worker: context.worker, taken: context.queues.onTaken(for: dispatcherId))
        meters[dispatcherId] = meter
        return meter
    }

    /// Makes rate barriers; by default they stand before all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = RateSettings(reading: configuration)
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> RateBarrier {
            try RateBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// What one dispatcher takes, and whether it may take more.
private final class RateMeter {
    private let worker: any Worker
    private var bucket: TokenBucket
    @StateSubject(.open) var state: ObservableState<BarrierState>
    private var subscription: (any Disposable)?
    private var alarm: (any Disposable)?

    init(_ settings: RateSettings, worker: any Worker, taken: Observable<Int>) {
        self.worker = worker
        bucket = TokenBucket(settings, at: worker.now)
        subscription = taken.subscribe { [weak self] in self?.take($0) }
    }

    deinit {
        subscription?.dispose()
        alarm?.dispose()
    }

    func change(to settings: RateSettings) {
        bucket.change(to: settings, at: worker.now)
        look()
    }

    private func take(_ count: Int) {
        bucket.take(count, at: worker.now)
        look()
    }

    private func look() {
        alarm?.dispose()
        let isReady = bucket.isReady(at: worker.now)
        alarm = isReady ? nil : worker.schedule(at: bucket.readyAt) { [weak self] in self?.look() }
        let new: BarrierState = isReady ? .open : .closed
        if new != state.value { _state.value = new }
    }
}
