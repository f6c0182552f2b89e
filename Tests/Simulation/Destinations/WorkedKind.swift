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
        of dispatcher: String, _ settings: WorkerSettings, in surroundings: SenderSurroundings
    ) -> any Sender {
        WitnessedSender(kind.makeSender(of: dispatcher, settings, in: surroundings), side)
    }
}

/// A sender of which the far side sees what goes in and what comes out.
private final class WitnessedSender: Sender {
    private let sender: any Sender
    private let side: WorkSide

    init(_ sender: any Sender, _ side: WorkSide) {
        self.sender = sender
        self.side = side
    }

    var format: BatchFormat { sender.format }
    var capacity: SenderCapacity { sender.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        side.began(batch)
        sender.send(batch) { [side] result in
            let before = side.delivered()
            then(result)
            side.ended(batch, result, delivered: side.delivered() - before)
        }
    }

    func interrupt() {
        sender.interrupt()
    }

    func close() {
        sender.close()
    }
}
