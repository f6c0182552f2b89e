import HeadgateData

/// A barrier that limits the rate of a dispatcher (Behaviour B27). Each dispatcher has its own token bucket.
///
/// The barrier is open while there is a whole token. A batch may take more tokens than there are, up to its limits in
/// Behaviour D1; the barrier then stays closed until the debt is repaid. The rate thus holds in the long run, and
/// `dispatch_limit` bounds the excess.
public final class RateBarrier: ConfigurableBarrier, DescribedBarrier, BarrierJSON {
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
        return "rate limit reached: \(DataNumber(rate).int.map(String.init) ?? String(rate)) a second"
    }

    /// Returns a dispatcher's meter. It is kept when the dispatcher leaves the scope, so that leaving and returning
    /// adds no tokens.
    private func meter(of dispatcherId: String) -> RateMeter {
        if let meter = meters[dispatcherId] { return meter }
        let meter = RateMeter(
            settings, scheduler: context.scheduler, taken: context.queues.onTaken(for: dispatcherId))
        meters[dispatcherId] = meter
        return meter
    }

    /// A factory of rate barriers. By default they apply to all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            _ = RateSettings(reading: configuration)
            // `burst` without `per_second` is reported above.
            if configuration.item("burst") == nil { configuration.require("per_second") }
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> RateBarrier {
            try RateBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// The token bucket and barrier state of one dispatcher.
private final class RateMeter {
    private let scheduler: any Scheduler
    private var bucket: TokenBucket
    @StateSubject(.open) var state: ObservableState<BarrierState>
    private var subscription: (any Disposable)?
    private var timer: (any Disposable)?

    init(_ settings: RateSettings, scheduler: any Scheduler, taken: Observable<Int>) {
        self.scheduler = scheduler
        bucket = TokenBucket(settings, at: scheduler.now)
        subscription = taken.subscribe { [weak self] in self?.take($0) }
    }

    deinit {
        subscription?.dispose()
        timer?.dispose()
    }

    func change(to settings: RateSettings) {
        bucket.change(to: settings, at: scheduler.now)
        evaluate()
    }

    private func take(_ count: Int) {
        bucket.take(count, at: scheduler.now)
        evaluate()
    }

    private func evaluate() {
        timer?.dispose()
        let isReady = bucket.isReady(at: scheduler.now)
        timer = isReady ? nil : scheduler.schedule(at: bucket.readyAt) { [weak self] in self?.evaluate() }
        let new: BarrierState = isReady ? .open : .closed
        if new != state.value { _state.value = new }
    }
}

/// The settings of a rate barrier.
public struct RateSettings: BarrierConfiguration, Equatable {
    /// The average number of dispatches per second; nil for no limit.
    public var perSecond: Double?
    /// The number of dispatches that may be sent at once after a pause.
    public var burst = 1
    /// True if flushes ignore the barrier.
    public var isFlushable = false

    /// Reads `{per_second, burst, flushable}`. Without a rate the barrier is always open. Without a burst, the burst is
    /// the number of dispatches of one second.
    public init(reading reader: SettingsReader) {
        isFlushable = reader.bool("flushable") ?? isFlushable
        let burst = reader.integer("burst", in: 1...RateSettings.most)
        perSecond = reader.number("per_second", in: 0.00001...Double(RateSettings.most))
        if reader.item("burst") != nil, reader.item("per_second") == nil {
            reader.fault("per_second", "", "is required with burst")
        }
        self.burst = burst ?? perSecond.map { max(1, Int($0.rounded(.up))) } ?? 1
    }

    /// The time in which one token is added; nil if there is no limit.
    var interval: Duration? {
        // The limits above keep the result within the range of `Duration`.
        perSecond.map { .seconds(1 / $0) }
    }

    private static let most = 1_000_000_000
}

/// A token bucket. The missing tokens are kept as the time until the bucket is full. No fraction of a token is lost,
/// and nothing has to be updated as time passes.
struct TokenBucket: Equatable {
    /// The time in which one token is added; nil if there are always enough.
    private(set) var interval: Duration?
    private(set) var size: Int
    /// The time until the bucket is full, as of `asOf`.
    private var debt = Duration.zero
    private var asOf: Instant

    /// Creates a full bucket.
    init(_ settings: RateSettings, at now: Instant) {
        interval = settings.interval
        size = settings.burst
        asOf = now
    }

    /// Takes tokens. More than there are may be taken; the debt has to be repaid before there is a token again.
    mutating func take(_ count: Int, at now: Instant) {
        guard let interval else { return }
        pass(to: now)
        debt = min(debt + interval * count, TokenBucket.mostDebt)
    }

    /// The time from which there is a whole token.
    var readyAt: Instant {
        asOf + (debt - (interval ?? .zero) * (size - 1))
    }

    /// Returns true if there is a whole token.
    func isReady(at now: Instant) -> Bool {
        readyAt <= now
    }

    /// Applies another size or rate. The number of missing tokens stays the same.
    mutating func change(to settings: RateSettings, at now: Instant) {
        pass(to: now)
        let missing = interval.map { debt / $0 } ?? 0
        interval = settings.interval
        size = settings.burst
        debt = min((interval ?? .zero) * missing, TokenBucket.mostDebt)
    }

    private mutating func pass(to now: Instant) {
        debt = max(.zero, debt - (now - asOf))
        asOf = now
    }

    /// A limit of the debt that is longer than any wait and keeps sums from overflowing.
    private static let mostDebt = Duration.seconds(1 << 50)
}
