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
            settings, scheduler: context.scheduler, taken: context.queues.onTaken(for: dispatcherId))
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
            // A burst without a rate is told of above.
            if configuration.item("burst") == nil { configuration.require("per_second") }
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> RateBarrier {
            try RateBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}

/// What one dispatcher takes, and whether it may take more.
private final class RateMeter {
    private let scheduler: any Scheduler
    private var bucket: TokenBucket
    @StateSubject(.open) var state: ObservableState<BarrierState>
    private var subscription: (any Disposable)?
    private var alarm: (any Disposable)?

    init(_ settings: RateSettings, scheduler: any Scheduler, taken: Observable<Int>) {
        self.scheduler = scheduler
        bucket = TokenBucket(settings, at: scheduler.now)
        subscription = taken.subscribe { [weak self] in self?.take($0) }
    }

    deinit {
        subscription?.dispose()
        alarm?.dispose()
    }

    func change(to settings: RateSettings) {
        bucket.change(to: settings, at: scheduler.now)
        look()
    }

    private func take(_ count: Int) {
        bucket.take(count, at: scheduler.now)
        look()
    }

    private func look() {
        alarm?.dispose()
        let isReady = bucket.isReady(at: scheduler.now)
        alarm = isReady ? nil : scheduler.schedule(at: bucket.readyAt) { [weak self] in self?.look() }
        let new: BarrierState = isReady ? .open : .closed
        if new != state.value { _state.value = new }
    }
}

/// How much may go to a dispatcher.
public struct RateSettings: BarrierConfiguration, Equatable {
    /// Dispatches a second in the long run; nil: any number.
    public var perSecond: Double?
    /// How many may go at once after a pause.
    public var burst = 1
    /// Whether a flush goes through all the same.
    public var isFlushable = false

    /// Reads `{per_second, burst, flushable}`. Without a rate the barrier holds nothing; without a burst it is a
    /// second's worth.
    public init(reading reader: SettingsReader) {
        isFlushable = reader.bool("flushable") ?? isFlushable
        let burst = reader.integer("burst", in: 1...RateSettings.most)
        perSecond = reader.number("per_second", in: 0.00001...Double(RateSettings.most))
        if reader.item("burst") != nil, reader.item("per_second") == nil {
            reader.fault("per_second", "", "is required with burst")
        }
        self.burst = burst ?? perSecond.map { max(1, Int($0.rounded(.up))) } ?? 1
    }

    /// The time in which one token comes back; nil: at once.
    var interval: Duration? {
        // Inside the limits above this is neither nothing nor too long to say.
        perSecond.map { .seconds(1 / $0) }
    }

    private static let most = 1_000_000_000
}

/// Tokens that come back one after the other, up to a number. What is missing is kept as the time until all are back, so
/// that no fraction of a token is lost, and nothing has to be counted while time goes by.
struct TokenBucket: Equatable {
    /// The time in which one token comes back; nil: there are always enough.
    private(set) var interval: Duration?
    private(set) var size: Int
    /// How long it took, at `asOf`, until all tokens are back.
    private var debt = Duration.zero
    private var asOf: Instant

    /// A full bucket.
    init(_ settings: RateSettings, at now: Instant) {
        interval = settings.interval
        size = settings.burst
        asOf = now
    }

    /// Takes tokens out, also more than there are: what is owed has to come back before there is one again.
    mutating func take(_ count: Int, at now: Instant) {
        guard let interval else { return }
        pass(to: now)
        debt = min(debt + interval * count, TokenBucket.mostDebt)
    }

    /// The moment from which there is a whole token.
    var readyAt: Instant {
        asOf + (debt - (interval ?? .zero) * (size - 1))
    }

    /// Whether there is a whole token.
    func isReady(at now: Instant) -> Bool {
        readyAt <= now
    }

    /// Goes on with another size or speed; as many tokens as were missing are missing still.
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

    /// More than anybody waits for, and so little that sums of it can be said.
    private static let mostDebt = Duration.seconds(1 << 50)
}
