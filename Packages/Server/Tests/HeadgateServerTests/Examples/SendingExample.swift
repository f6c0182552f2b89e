import HeadgateCore
import HeadgateData
import HeadgateServer

/// The settings of a program that sends events to a collector.
enum SendingExample {
    static func configure(_ configuration: inout ServerConfiguration) {
        configuration.settings = [
            "dispatchers": ["collect": ["kind": "http", "endpoint": "https://collector.example/events"]]
        ]
    }

    static func send(inGroups configuration: inout ServerConfiguration) {
        configuration.settings["barriers"] = [
            "BatchingBarrier": .object(
                BatchingBarrierSettingsBuilder().setScopes([.dispatcher(id: "collect")])
                    .setBatchSize(10).setMaxWait(.seconds(5)).build())
        ]
    }
}

/// Prints events on a till's paper roll, one after the other.
final class PaperSender: Sender {
    let format = BatchFormat.ndjson
    private let roll: PaperRoll
    private let scheduler: any Scheduler

    init(roll: PaperRoll, scheduler: any Scheduler) {
        self.roll = roll
        self.scheduler = scheduler
    }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        let hasPaper = roll.print(batch.body)
        // `then` must not be called before `send` has returned.
        scheduler.soon { then(hasPaper ? .delivered : .noAnswer(cause: "there is no paper")) }
    }

    func interrupt() {}
    func close() {}
}

struct PaperKind: DispatcherKind {
    let name = "paper"
    let roll: PaperRoll

    /// This kind has no settings of its own.
    struct Settings: Sendable, Equatable {}

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings {
        Settings()
    }

    func reachesNetwork(_ settings: Settings) -> Bool { false }

    func makeSender(of dispatcher: String, _ settings: Settings, in context: SenderContext) -> any Sender {
        PaperSender(roll: roll, scheduler: context.scheduler)
    }
}

/// The paper of a till's printer.
final class PaperRoll: @unchecked Sendable {
    // Unchecked: only the server's loop prints, and tests read the lines after it has ended.
    private(set) var lines: [String] = []

    func print(_ bytes: [UInt8]) -> Bool {
        lines += String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        return true
    }
}

enum PaperExample {
    static func add(_ roll: PaperRoll, to configuration: inout ServerConfiguration) {
        configuration.addDispatcherKind(PaperKind(roll: roll))
        configuration.makeStore = { scheduler in MemoryEventStore(scheduler: scheduler) }
    }
}
