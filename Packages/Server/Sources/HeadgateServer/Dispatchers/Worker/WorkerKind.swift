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
