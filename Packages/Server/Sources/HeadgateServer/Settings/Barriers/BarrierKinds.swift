import HeadgateCore
import HeadgateData

/// The kinds of barriers that may be configured, and what each may be told.
public struct BarrierKinds: Sendable {
    /// Reads a barrier's configuration and notes what is wrong with it.
    public typealias Judge = @Sendable (_ configuration: SettingsReader) -> Void

    private var judges: [String: Judge] = [:]
    /// The scopes of the program's own kinds where settings name none, as far as they are known before the start.
    private var ownScopes: [String: [BarrierScope]] = [:]

    /// No kind.
    public init() {}

    /// The kinds that come with the service.
    public static let builtIn: BarrierKinds = {
        var kinds = BarrierKinds()
        kinds.add(ApplicationStatusBarrier.id, reading: ApplicationStatusSettings.self)
        kinds.add(BatchingBarrier.id, reading: BatchingSettings.self)
        kinds.add(ConnectivityBarrier.id, reading: ConnectivitySettings.self)
        kinds.add(IntervalBarrier.id, reading: IntervalSettings.self)
        kinds.add(RateBarrier.id, reading: RateSettings.self)
        kinds.add(ScheduleBarrier.id, judge: schedule(timeZone: ZoneInfo().rules))
        return kinds
    }()

    /// Kinds that the service itself puts before dispatchers, one for each, and steers.
    static let ownedByService = ["ManualBarrier", "BackoffBarrier", "ActivationGate"]

    /// The kinds' names, sorted.
    public var names: [String] { judges.keys.sorted() }

    /// Adds a kind, or replaces it.
    public mutating func add(_ kind: String, judge: @escaping Judge) {
        judges[kind] = judge
    }

    /// Adds a kind of a program's own, which reads its configuration itself.
    mutating func add(_ factory: some BarrierFactory) {
        add(factory.kind) { $0.acceptEveryKey() }
        let scopes = factory.defaultScopes()
        // One that has none yet may have some when dispatchers come.
        ownScopes[factory.kind] = scopes.isEmpty ? [.all] : scopes
    }

    /// Whether a barrier whose settings name no scopes would stand before a dispatcher (Behaviour B5).
    func stands(_ kind: String, before dispatcher: ConfiguredDispatcher) -> Bool {
        if let scopes = ownScopes[kind] { return scopes.cover(dispatcher.id) }
        switch kind {
        case ConnectivityBarrier.id: return dispatcher.kind.reachesNetwork
        case BatchingBarrier.id: return BatchingBarrier.Factory().defaultScopes().cover(dispatcher.id)
        default: return true
        }
    }

    /// Adds a kind whose configuration is read as a value, or replaces it. A key that is not read is unknown.
    public mutating func add<Configuration: BarrierConfiguration>(_ kind: String, reading: Configuration.Type) {
        add(kind) { _ = Configuration(reading: $0) }
    }

    /// Finds what is wrong with an entry's kind and configuration.
    func judge(kind: String, _ entry: SettingsReader) {
        guard let judge = judges[kind] else { return entry.fault("kind", "", complaint(about: kind)) }
        entry.section("configuration", judge)
    }

    private func complaint(about kind: String) -> String {
        if BarrierKinds.ownedByService.contains(kind) { return "the service has this barrier by itself" }
        return SettingsReader.mustBeOne(of: names)
    }

    /// A schedule, whose time zone has to be known here (Behaviour B24).
    private static func schedule(timeZone: @escaping @Sendable (String?) -> TimeZoneRules?) -> Judge {
        { configuration in
            let settings = ScheduleSettings(reading: configuration)
            if timeZone(settings.timeZone) == nil {
                configuration.fault(ScheduleSettings.unknownTimeZone.key, "", ScheduleSettings.unknownTimeZone.message)
            }
        }
    }
}
