import HeadgateCore
import HeadgateData

/// The kind of dispatchers whose batches go to local processes (workers) over the daemon's socket (Behaviour K3).
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
        of dispatcher: String, _ settings: WorkerSettings, in context: SenderContext
    ) -> any Sender {
        WorkerSender(context.workerGroups.workerGroup(of: dispatcher, settings))
    }
}

/// The sender of a dispatcher of kind `worker` (Behaviour K3). The worker group outlives the sender, so a change of the
/// settings ends no subscription.
private final class WorkerSender: Sender {
    let format = BatchFormat.distinctJSONArray

    private let workerGroup: WorkerGroup

    init(_ workerGroup: WorkerGroup) {
        self.workerGroup = workerGroup
    }

    var capacity: SenderCapacity { workerGroup.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        workerGroup.send(batch, then: then)
    }

    func interrupt() {
        workerGroup.interrupt()
    }

    /// Does nothing, because the sender owns nothing.
    func close() {}
}
