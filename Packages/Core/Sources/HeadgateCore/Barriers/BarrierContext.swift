import HeadgateData

/// What a barrier may look at and use.
public struct BarrierContext {
    /// The executor that the barrier lives on, and its clock.
    public let worker: any Worker
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
        worker: any Worker, queues: any QueueObserving,
        network: Observable<NetworkState> = Observables.just(.unknown),
        applicationStatus: Observable<ApplicationStatus?> = Observables.just(nil),
        timeZone: @escaping (String?) -> TimeZoneRules? = TimeZoneRules.named,
        barrierRegistrar: (any BarrierRegistrar)? = nil
    ) {
        self.worker = worker
        self.queues = queues
        self.network = network
        self.applicationStatus = applicationStatus
        self.timeZone = timeZone
        self.barrierRegistrar = RegistrarLink(barrierRegistrar)
    }

    /// The worker's queue: for timers, and for those who change a barrier's state from other threads.
    public var queue: WorkerQueue { WorkerQueue(worker) }
}
