import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Dispatchers of kind `worker`, with a witness between the dispatcher and the daemon's own sender: `"kind": "worked"`.
struct WorkedKind: DispatcherKind {
    let name = "worked"
    let destination: WorkerWitness
    private let kind = WorkerKind()

    init(_ destination: WorkerWitness) {
        self.destination = destination
    }

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> WorkerSettings {
        kind.read(entry, common: &common)
    }

    func reachesNetwork(_ settings: WorkerSettings) -> Bool { kind.reachesNetwork(settings) }

    func makeSender(
        of dispatcher: String, _ settings: WorkerSettings, in context: SenderContext
    ) -> any Sender {
        WitnessedSender(kind.makeSender(of: dispatcher, settings, in: context), destination)
    }
}
