import HeadgateCore
import HeadgateData

/// The kind of dispatchers whose batches local processes take over the socket (Behaviour K3).
struct WorkerKind: DispatcherKind {
    let name = "worker"

    /// Reads the lease. Without `in_flight` in the settings, the workers' credit limits the batches in flight.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> WorkerSettings {
        var settings = WorkerSettings()
        entry.milliseconds("lease_ms", into: &settings.lease)
        entry.section("workers") { settings.workers = AccessSettings.Grant($0) }
        if entry.item("in_flight") == nil {
            common.inFlight = min(
                DispatcherSettings.mostInFlight, max(1, DispatcherSettings.mostBuffered / common.dispatchLimit))
        }
        return settings
    }

    func reachesNetwork(_ settings: WorkerSettings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: WorkerSettings, in surroundings: SenderContext
    ) -> any Sender {
        WorkerSender(surroundings.workforces.workforce(of: dispatcher, settings))
    }
}

/// The settings of a dispatcher of kind `worker`, beyond those that all kinds have.
struct WorkerSettings: Sendable, Equatable {
    /// The time that a worker may take to answer. After it the batch goes to another worker.
    var lease = Duration.seconds(30)
    /// The users who may subscribe, in addition to having the right to `serve`; nil for all who have it (Behaviour X1).
    var workers: AccessSettings.Grant?
}

/// The sender of a dispatcher of kind `worker` (Behaviour K3). The workforce outlives it, so a change of the settings
/// ends no subscription.
private final class WorkerSender: Sender {
    let format = BatchFormat.distinctJSONArray

    private let workforce: WorkerGroup

    init(_ workforce: WorkerGroup) {
        self.workforce = workforce
    }

    var capacity: SenderCapacity { workforce.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        workforce.send(batch, then: then)
    }

    func interrupt() {
        workforce.interrupt()
    }

    /// Does nothing, because the sender owns nothing.
    func close() {}
}

/// A barrier that is closed while a dispatcher of kind `worker` has no worker. Each such dispatcher has one, and it is
/// never flushable. As a barrier it appears in every list, with the reason why nothing is sent (Behaviour B10).
final class WorkerBarrier: DescribedBarrier {
    static let kind = "WorkerBarrier"

    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var cause: String? = WorkerBarrier.nobody

    static let nobody = "no worker subscribes"

    /// Opens or closes the barrier.
    /// - Parameter cause: the reason why no worker takes batches, or nil to open the barrier.
    /// - Returns: true if the cause has changed.
    func set(_ cause: String?) -> Bool {
        guard cause != self.cause else { return false }
        self.cause = cause
        let new: BarrierState = cause == nil ? .open : .closed
        if new != state.value { _state.value = new }
        return true
    }

    func onState(for dispatcherId: String) -> Observable<BarrierState> {
        state
    }

    var isFlushable: Observable<Bool> {
        Observables.just(false)
    }

    func reason(for dispatcherId: String) -> String? {
        cause
    }
}
