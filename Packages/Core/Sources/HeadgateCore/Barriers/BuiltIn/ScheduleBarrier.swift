import HeadgateData

/// Holds dispatchers outside some hours of some days (Behaviour B24).
///
/// It looks at the clock when a minute begins, which is when the window opens and closes; so a clock that is set anew
/// is noticed within a minute (Behaviour P7).
public final class ScheduleBarrier: ConfigurableBarrier, DescribedBarrier, WordedBarrier {
    public static let id = "ScheduleBarrier"
    static let word = "schedule"

    private let context: BarrierContext
    private var hours: OpeningHours
    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    @StateSubject(false) private var flushability: ObservableState<Bool>
    private var alarm: (any Disposable)?

    init(context: BarrierContext, configuration: DataObject) throws {
        self.context = context
        hours = try ScheduleBarrier.hours(configuration, context)
        look()
    }

    deinit {
        alarm?.dispose()
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    public var isFlushable: Observable<Bool> {
        flushability
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        hours = try ScheduleBarrier.hours(configuration, context)
        look()
    }

    public func reason(for dispatcherId: String) -> String? {
        guard state.value == .closed else { return nil }
        guard let opening = hours.nextOpening(after: context.worker.wall) else { return "outside its hours" }
        return "outside its hours until \(opening.text)"
    }

    private static func hours(_ configuration: DataObject, _ context: BarrierContext) throws -> OpeningHours {
        let settings = try ScheduleSettings(configuration)
        return OpeningHours(settings: settings, rules: try settings.rules(context.timeZone))
    }

    private func look() {
        let worker = context.worker
        let wait = hours.nextMinute(after: worker.wall).milliseconds - worker.wall.milliseconds
        alarm?.dispose()
        alarm = worker.schedule(at: worker.now + .milliseconds(wait)) { [weak self] in self?.look() }
        _flushability.value = hours.settings.isFlushable
        _state.value = hours.isOpen(at: worker.wall) ? .open : .closed
    }

    /// Makes schedule barriers; by default they stand before all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        /// The zone has to be known here (Behaviour B24).
        public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
            let settings = ScheduleSettings(reading: configuration)
            let unknown = ScheduleSettings.unknownTimeZone
            if timeZone(settings.timeZone) == nil { configuration.fault(unknown.key, "", unknown.message) }
        }

        public func create(context: BarrierContext, configuration: DataObject) throws -> ScheduleBarrier {
            try ScheduleBarrier(context: context, configuration: configuration)
        }

        public func defaultScopes() -> [BarrierScope] { scopes }
    }
}
