import HeadgateCore
import HeadgateData

/// Dispatchers whose batches local processes take over the socket (Behaviour K3).
struct WorkerKind: DispatcherKind {
    let name = "worker"

    /// What its workers can take bounds the batches in flight, unless the settings do.
    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> WorkerSettings {
        var settings = WorkerSettings()
        entry.milliseconds("lease_ms", into: &settings.lease)
        if entry.item("in_flight") == nil {
            common.inFlight = min(
                DispatcherSettings.mostInFlight, max(1, DispatcherSettings.mostInHand / common.dispatchLimit))
        }
        return settings
    }

    func reachesNetwork(_ settings: WorkerSettings) -> Bool { false }

    func makeSender(
        of dispatcher: String, _ settings: WorkerSettings, in surroundings: SenderSurroundings
    ) -> any Sender {
        WorkerSender(surroundings.workforces.workforce(of: dispatcher, settings))
    }
}

/// What a dispatcher of kind `worker` can be told beyond what all can.
struct WorkerSettings: Sendable, Equatable {
    /// How long a worker may take to answer before its batch is given to another.
    var lease = Duration.seconds(30)
}

/// The way out of a dispatcher of kind `worker` (Behaviour K3). Who works for the dispatcher outlives it: a change of the
/// settings ends no subscription.
private final class WorkerSender: Sender {
    let format = BatchFormat.distinctJSONArray

    private let workforce: Workforce

    init(_ workforce: Workforce) {
        self.workforce = workforce
    }

    var capacity: SenderCapacity { workforce.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        workforce.send(batch, then: then)
    }

    func interrupt() {
        workforce.interrupt()
    }

    /// There is nothing of its own.
    func close() {}
}

/// Closed while nobody works for a dispatcher of kind `worker`: one stands before each, never flushable. Being a barrier,
/// it is shown like any other, so that nobody has to guess why nothing is sent (Behaviour B10).
final class WorkerBarrier: DescribedBarrier {
    static let kind = "WorkerBarrier"

    @StateSubject(.closed) private var state: ObservableState<BarrierState>
    private var cause: String? = WorkerBarrier.nobody

    static let nobody = "no worker subscribes"

    /// - Parameter cause: why nobody takes batches; nil when somebody does.
    /// - Returns: whether that is new.
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
