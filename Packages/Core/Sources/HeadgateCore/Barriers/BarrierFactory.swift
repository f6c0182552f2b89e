import HeadgateData

/// Makes the barriers of one configurable kind.
public protocol BarrierFactory<BarrierType> {
    associatedtype BarrierType: ConfigurableBarrier

    /// Reads a configuration and notes what is wrong with it, before settings that hold it are in force (Behaviour S2). A
    /// kind that has nothing to say here takes any key, and is asked when the barrier is made.
    /// - Parameter timeZone: finds a time zone by its name, or the machine's for nil.
    func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?)
    /// Makes a barrier with its first settings; throws what is wrong with them.
    func create(context: BarrierContext, configuration: DataObject) throws -> BarrierType
    /// The scopes of a barrier whose settings name none (Behaviour B5). They are asked for again when dispatchers come.
    func defaultScopes() -> [BarrierScope]
}

extension BarrierFactory {
    public func check(_ configuration: SettingsReader, timeZone: (String?) -> TimeZoneRules?) {
        configuration.acceptEveryKey()
    }

    public func defaultScopes() -> [BarrierScope] { [.all] }

    /// The name under which settings know the kind.
    public var kind: String { BarrierType.id }
}

/// What the barriers of one kind can be told, as a value.
public protocol BarrierConfiguration: Sendable {
    /// Reads what there is. What is wrong is noted with the reader and stands at its default.
    init(reading reader: SettingsReader)
}

extension BarrierConfiguration {
    /// Reads a configuration, or throws what is wrong with it first.
    public init(_ configuration: DataObject) throws(BarrierConfigurationFault) {
        let reader = SettingsReader(configuration)
        self.init(reading: reader)
        if let fault = reader.findings.faults.first {
            throw BarrierConfigurationFault(key: fault.path, message: fault.message)
        }
    }
}

/// Settings that a barrier cannot use.
public struct BarrierConfigurationFault: Error, Equatable, Sendable {
    /// The key that is wrong, relative to the barrier's configuration.
    public var key: String
    /// What is wrong, for people. It does not repeat the value.
    public var message: String

    public init(key: String, message: String) {
        self.key = key
        self.message = message
    }
}

/// What a barrier may look at and use.
public struct BarrierContext {
    /// The executor that the barrier lives on, and its clock.
    public let scheduler: any Scheduler
    /// The queues of all dispatchers.
    public let queues: any QueueObserving
    /// The machine's network connection (Behaviour B21).
    public let network: Observable<NetworkState>
    /// The status of all clients that announced one, taken together; nil while there is none (Behaviour B26).
    public let applicationStatus: Observable<ApplicationStatus?>
    /// Finds a time zone by its name (`Europe/Berlin`), or the machine's for nil; nil when there is none of that name.
    public let timeZone: (String?) -> TimeZoneRules?
    /// Where barriers may be registered that get no settings.
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
        self.barrierRegistrar = RegistrarLink(barrierRegistrar)
    }

    /// The scheduler's queue: for timers, and for those who change a barrier's state from other threads.
    public var queue: SchedulerQueue { SchedulerQueue(scheduler) }
}

/// Takes barriers that come and go while the service runs (Behaviour B8). They get no settings.
public protocol BarrierRegistrar: AnyObject {
    /// Puts a barrier before the dispatchers in these scopes; the same instance again replaces its scopes.
    func registerScopedBarrier(_ barrier: any Barrier, scopes: [BarrierScope])
    /// Takes a barrier away; one that is not there changes nothing.
    func unregisterScopedBarrier(_ barrier: any Barrier)
}

/// The way to a registrar for those that it outlives, or that hold each other up. Does nothing once it is gone.
final class RegistrarLink: BarrierRegistrar {
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
