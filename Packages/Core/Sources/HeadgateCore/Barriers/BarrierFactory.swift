import HeadgateData

/// A factory of the barriers of one configurable kind.
public protocol BarrierFactory<BarrierType> {
    associatedtype BarrierType: ConfigurableBarrier

    /// Checks a configuration before it is applied, and reports its faults to the reader (Behaviour S2). The default
    /// accepts every key, and faults are found when the barrier is created.
    /// - Parameter timeZone: returns the time zone with a name, or the machine's for nil.
    func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?)
    /// Creates a barrier with its first settings. Throws the fault if the settings are wrong.
    func create(context: BarrierContext, configuration: DataObject) throws -> BarrierType
    /// Returns the scopes of a barrier whose settings have none (Behaviour B5). It is called again when dispatchers are
    /// added.
    func defaultScopes() -> [BarrierScope]
}

extension BarrierFactory {
    public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
        configuration.acceptEveryKey()
    }

    public func defaultScopes() -> [BarrierScope] { [.all] }

    /// The name of the kind in settings.
    public var kind: String { BarrierType.id }
}

/// The configuration of one kind of barrier, as a value.
public protocol BarrierConfiguration: Sendable {
    /// Reads a configuration. Faults are reported to the reader, and the defaults apply.
    init(reading reader: SettingsReader)
}

extension BarrierConfiguration {
    /// Reads a configuration, or throws its first fault.
    public init(_ configuration: DataObject) throws(BarrierConfigurationFault) {
        let reader = SettingsReader(configuration)
        self.init(reading: reader)
        if let fault = reader.findings.faults.first {
            throw BarrierConfigurationFault(key: fault.path, message: fault.message)
        }
    }
}

/// A fault in a barrier's settings.
public struct BarrierConfigurationFault: Error, Equatable, Sendable {
    /// The wrong key, relative to the barrier's configuration.
    public var key: String
    /// The problem, for people. It does not contain the value.
    public var message: String

    public init(key: String, message: String) {
        self.key = key
        self.message = message
    }
}

/// The services that a barrier may use.
public struct BarrierContext {
    /// The barrier's executor and its clock.
    public let scheduler: any Scheduler
    /// The queues of all dispatchers.
    public let queues: any QueueObserving
    /// The machine's network connection (Behaviour B21).
    public let network: Observable<NetworkState>
    /// The combined status of all clients that have reported one; nil while there is none (Behaviour B26).
    public let applicationStatus: Observable<ApplicationStatus?>
    /// Returns the time zone with a name (`Europe/Berlin`), or the machine's for nil. Returns nil for an unknown name.
    public let timeZone: (String?) -> TimeZoneRules?
    /// The registrar for barriers without settings.
    public let barrierRegistrar: any BarrierRegistrar

    public init(
        scheduler: any Scheduler, queues: any QueueObserving,
        network: Observable<NetworkState> = Observables.just(.unknown),
        applicationStatus: Observable<ApplicationStatus?> = Observables.just(nil),
        timeZone: @escaping (String?) -> TimeZoneRules? = TimeZoneRules.named,
        barrierRegistrar: (any BarrierRegistrar)? = nil
    ) {
        self.scheduler = scheduler
        self.queues = queues
        self.network = network
        self.applicationStatus = applicationStatus
        self.timeZone = timeZone
        self.barrierRegistrar = WeakRegistrar(barrierRegistrar)
    }

    /// The scheduler's queue: for timers, and for changing a barrier's state from other threads.
    public var queue: SchedulerQueue { SchedulerQueue(scheduler) }
}

/// A type that registers and unregisters barriers while the service runs (Behaviour B8). These barriers get no
/// settings.
public protocol BarrierRegistrar: AnyObject {
    /// Registers a barrier for the dispatchers in the scopes. Registering the same instance again replaces its scopes.
    func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope])
    /// Unregisters a barrier. Does nothing for an unknown one.
    func unregisterScopedBarrier(_ barrier: any Barrier)
}

/// A weak reference to a registrar, which avoids a retain cycle. It does nothing once the registrar is gone.
final class WeakRegistrar: BarrierRegistrar {
    private weak var registrar: (any BarrierRegistrar)?

    init(_ registrar: (any BarrierRegistrar)? = nil) {
        self.registrar = registrar
    }

    func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope]) {
        registrar?.registerScopedBarrier(barrier, scopes: scopes)
    }

    func unregisterScopedBarrier(_ barrier: any Barrier) {
        registrar?.unregisterScopedBarrier(barrier)
    }
}
