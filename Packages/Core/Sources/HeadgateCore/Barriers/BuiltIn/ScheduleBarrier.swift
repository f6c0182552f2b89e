import HeadgateData

/// A barrier that blocks dispatchers outside of certain hours on certain days (Behaviour B24).
///
/// The barrier checks the clock at the beginning of each minute, when windows open and close. A clock that is set is
/// thus noticed within a minute (Behaviour P7).
public final class ScheduleBarrier: ConfigurableBarrier, DescribedBarrier, BarrierJSON {
    public static let id = "ScheduleBarrier"
    static let word = "schedule"

    private let context: BarrierContext
    private var hours: OpeningHours
    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    @StateSubject(false) private var flushability: ObservableState<Bool>
    private var timer: (any Disposable)?

    init(context: BarrierContext, configuration: DataObject) throws {
        self.context = context
        hours = try ScheduleBarrier.hours(configuration, context)
        evaluate()
    }

    deinit {
        timer?.dispose()
    }

    public func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    public var isFlushable: Observable<Bool> {
        flushability
    }

    public func updateConfiguration(_ configuration: DataObject) throws {
        hours = try ScheduleBarrier.hours(configuration, context)
        evaluate()
    }

    public func reason(for dispatcherId: String) -> String? {
        guard state.value == .closed else { return nil }
        guard let opening = hours.nextOpening(after: context.scheduler.wall) else { return "outside the schedule" }
        return "outside the schedule until \(opening.text)"
    }

    private static func hours(_ configuration: DataObject, _ context: BarrierContext) throws -> OpeningHours {
        let settings = try ScheduleSettings(configuration)
        return OpeningHours(settings: settings, rules: try settings.rules(context.timeZone))
    }

    private func evaluate() {
        let scheduler = context.scheduler
        let wait = hours.nextMinute(after: scheduler.wall).milliseconds - scheduler.wall.milliseconds
        timer?.dispose()
        timer = scheduler.schedule(at: scheduler.now + .milliseconds(wait)) { [weak self] in self?.evaluate() }
        _flushability.value = hours.settings.isFlushable
        _state.value = hours.isOpen(at: scheduler.wall) ? .open : .closed
    }

    /// A factory of schedule barriers. By default they apply to all dispatchers.
    public struct Factory: BarrierFactory {
        private let scopes: [BarrierScope]

        public init(defaultScopes: [BarrierScope] = [.all]) {
            scopes = defaultScopes
        }

        /// Reports faults; the time zone must be known on this machine (Behaviour B24).
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

/// The settings of a schedule barrier: the window in which it is open.
public struct ScheduleSettings: BarrierConfiguration, Equatable {
    /// The hour at which the window begins, 0 to 23.
    public var startHour = 0
    /// The hour at which the window ends, 0 to 24, exclusive. An hour before the start is on the next day.
    public var endHour = 24
    /// The days on which the window begins.
    public var days = Set(Weekday.allCases)
    /// The name of the time zone; nil for the machine's.
    public var timeZone: String?
    /// True if flushes ignore the barrier outside of the window.
    public var isFlushable = false

    /// Reads `{start_hour, end_hour, days, time_zone, flushable}`. Without hours the window is the whole day.
    public init(reading reader: SettingsReader) {
        startHour = reader.integer("start_hour", in: 0...23) ?? startHour
        endHour = reader.integer("end_hour", in: 0...24) ?? endHour
        days = reader.words("days", of: Weekday.self).map { Set($0) } ?? days
        timeZone = reader.string("time_zone")
        isFlushable = reader.bool("flushable") ?? isFlushable
        // Equal hours are ambiguous: they could mean a whole day or nothing.
        if startHour == endHour {
            reader.fault("end_hour", "", "must not be start_hour; leave both out for the whole day")
        }
    }

    /// Returns the rules of the time zone.
    /// - Parameter lookup: returns the time zone with a name, or the machine's for nil.
    public func rules(_ lookup: (String?) -> TimeZoneRules?) throws(BarrierConfigurationFault) -> TimeZoneRules {
        guard let rules = lookup(timeZone) else { throw ScheduleSettings.unknownTimeZone }
        return rules
    }

    /// The fault for a time zone that this machine does not know.
    public static let unknownTimeZone = BarrierConfigurationFault(
        key: "time_zone", message: "is not a time zone of this machine")
}

/// The window of a schedule in its time zone.
///
/// A moment is in the window if its local time is. An hour that is skipped in spring is therefore never open, and an
/// hour that is repeated in autumn is open twice.
struct OpeningHours {
    let settings: ScheduleSettings
    let rules: TimeZoneRules

    /// Returns true if the window is open at a moment.
    func isOpen(at moment: Timestamp) -> Bool {
        let local = rules.local(at: moment)
        guard settings.startHour > settings.endHour else {
            return settings.startHour..<settings.endHour ~= local.hour && begins(on: local.day)
        }
        if local.hour >= settings.startHour { return begins(on: local.day) }
        return local.hour < settings.endHour && begins(on: local.day - 1)
    }

    /// Returns the next beginning of a minute in the time zone. Hours begin, and zones change their offsets, only at
    /// such moments.
    func nextMinute(after moment: Timestamp) -> Timestamp {
        next(60, after: moment)
    }

    /// Returns the next opening after a moment, or nil if there is none within a week.
    func nextOpening(after moment: Timestamp) -> Timestamp? {
        // Offsets change by a quarter of an hour or more, so checking each quarter misses no opening.
        let quarter: Int64 = 900
        let end = moment.milliseconds + 8 * Timestamp.day
        var candidate = next(quarter, after: moment)
        while candidate.milliseconds < end {
            if isOpen(at: candidate) { return candidate }
            candidate = next(quarter, after: candidate)
        }
        return nil
    }

    private func begins(on day: Int) -> Bool {
        settings.days.contains(Weekday(daysSince1970: day))
    }

    /// Returns the next moment at which the local time is a multiple of `seconds`.
    private func next(_ seconds: Int64, after moment: Timestamp) -> Timestamp {
        let offset = Int64(rules.offset(at: moment.milliseconds.flooredDividing(by: 1000))) * 1000
        let step = seconds * 1000
        let local = moment.milliseconds + offset
        return Timestamp(milliseconds: (local.flooredDividing(by: step) + 1) * step - offset)
    }
}

extension Timestamp {
    fileprivate static let day: Int64 = 86_400_000
}
