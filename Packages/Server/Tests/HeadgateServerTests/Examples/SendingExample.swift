import HeadgateCore
import HeadgateData
import HeadgateServer

/// Settings of a program that sends events to a collector.
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
        // Never before this has returned.
        scheduler.soon { then(hasPaper ? .delivered : .noAnswer(cause: "there is no paper")) }
    }

    func interrupt() {}
    func close() {}
}

struct PaperKind: DispatcherKind {
    let name = "paper"
    let roll: PaperRoll

    /// There is nothing to be told.
    struct Settings: Sendable, Equatable {}

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings {
        Settings()
    }

    func reachesNetwork(_ settings: Settings) -> Bool { false }

    func makeSender(of dispatcher: String, _ settings: Settings, in surroundings: SenderSurroundings) -> any Sender {
        PaperSender(roll: roll, scheduler: surroundings.scheduler)
    }
}

/// What is printed on.
final class PaperRoll: @unchecked Sendable {
    // Unchecked: the server's loop alone prints, and tests look once that has ended.
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
