import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Dispatchers of kind `worker`, with a witness between the dispatcher and the daemon's own sender: `"kind": "worked"`.
struct WorkedKind: DispatcherKind {
    let name = "worked"
    let side: WorkSide
    private let kind = WorkerKind()

    init(_ side: WorkSide) {
        self.side = side
    }

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> WorkerSettings {
        kind.read(entry, common: &common)
    }

    func reachesNetwork(_ settings: WorkerSettings) -> Bool { kind.reachesNetwork(settings) }

    func makeSender(
        of dispatcher: String, _ settings: WorkerSettings, in context: SenderContext
    ) -> any Sender {
        WitnessedSender(kind.makeSender(of: dispatcher, settings, in: context), side)
    }
}
