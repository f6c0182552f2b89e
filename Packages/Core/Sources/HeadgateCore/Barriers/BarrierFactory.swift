import HeadgateData

/// Makes the barriers of one configurable kind.
public protocol BarrierFactory<BarrierType> {
    associatedtype BarrierType: ConfigurableBarrier

    /// Makes a barrier with its first settings; throws what is wrong with them.
    func create(context: BarrierContext, configuration: DataObject) throws -> BarrierType
    /// The scopes of a barrier whose settings name none (Behaviour B5).
    func defaultScopes() -> [BarrierScope]
}

extension BarrierFactory {
    public func defaultScopes() -> [BarrierScope] { [.all] }
}

/// What a barrier may look at and use.
public struct BarrierContext {
    /// The executor that the barrier lives on, and its clock.
    public let worker: any Worker
    /// The queues of all dispatchers.
    public let queues: any QueueObserving

    public init(worker: any Worker, queues: any QueueObserving) {
        self.worker = worker
        self.queues = queues
    }
}

/// The queues as barriers see them.
public protocol QueueObserving: AnyObject {
    /// How much waits for a dispatcher, over time.
    func onDepth(for dispatcherId: String) -> Observable<QueueDepth>
}

/// How much waits for a dispatcher.
public struct QueueDepth: Equatable, Sendable {
    /// Dispatches queued and not in flight.
    public var pending: Int
    /// When the oldest of them was received; nil while that is not known, or nothing waits.
    public var oldestSince: Instant?
    /// The most dispatches that the dispatcher takes at once.
    public var dispatchLimit: Int

    public init(pending: Int, oldestSince: Instant?, dispatchLimit: Int) {
        self.pending = pending
        self.oldestSince = oldestSince
        self.dispatchLimit = dispatchLimit
    }
}

/// Settings that a barrier cannot use.
public struct BarrierConfigurationFault: Error, Equatable, Sendable {
    /// The key that is wrong, relative to the barrier's configuration.
    public var key: String
    public var message: String

    public init(key: String, message: String) {
        self.key = key
        self.message = message
    }
}
