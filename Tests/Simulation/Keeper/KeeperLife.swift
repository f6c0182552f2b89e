import HeadgateCore
import HeadgateData
import HeadgateEncryption

@testable import HeadgateServer
@testable import HeadgateStore

/// A daemon of a ``KeeperHistory``, from its start to its end.
final class KeeperLife {
    /// The properties that stay the same for a whole history.
    struct Terms {
        let segmentSize: Int
        let leastPacked: Int
        let dispatcher: DataObject
        /// True if delivered events are always kept.
        let keepsAll: Bool

        init(_ record: Record) {
            segmentSize = record.pick([1, 2, 6]) << 10
            // The bytes of packed events cannot be recognized.
            leastPacked = record.oneIn(3) ? 1 : 1 << 20
            dispatcher = [
                "kind": "far", "dispatch_limit": .number(DataNumber(record.number(1...4))),
                "in_flight": .number(DataNumber(record.number(1...3))), "max_attempts": 1_000,
                "backoff": ["cap_ms": 2_000],
            ]
            keepsAll = !record.oneIn(3)
        }
    }

    /// The time for which delivered events are kept.
    enum Retention {
        case none, short, long

        init(_ record: Record, _ terms: Terms) {
            self = terms.keepsAll ? .long : record.pick([.none, .short, .long])
        }

        var settings: DataObject {
            switch self {
            case .none: [:]
            case .short: ["store": ["retain": ["max_age_s": 2]]]
            case .long: ["store": ["retain": ["max_bytes": 1_000_000_000]]]
            }
        }
    }

    let service: Service
    let disk: SimulatedDisk
    let executor: SimulatedStoreExecutor
    let client: PlainClient
    let retention: Retention
    private let record: Record
    private let scheduler: SimulatedScheduler

    init(_ history: KeeperHistory, _ terms: Terms, _ retention: Retention, isWell: Bool) throws {
        (record, scheduler, self.retention) = (history.record, history.scheduler, retention)
        disk = SimulatedDisk(history.medium, record)
        let keys = history.keys
        executor = KeeperLife.executor(history, terms, keys.keyring(keys.numbers), disk, scheduler)
        if !isWell { KeeperLife.trouble(disk, record) }
        let dispatchers: DataObject = ["a": .object(terms.dispatcher), "b": .object(terms.dispatcher)]
        let defaults: DataObject = ["shutdown_timeout_ms": 1_000, "dispatchers": .object(dispatchers)]
        let far = FarKind(
            destinations: Dictionary(uniqueKeysWithValues: history.destinations.map { ($0.queue.id, $0) }))
        service = try .simulated(
            defaults.patched(with: retention.settings).patched(with: keys.settings),
            environment: [KeeperKeys.variable: keys.text], far, executor, disk, scheduler, record)
        client = PlainClient(of: service, on: scheduler, record)
        record.note("the daemon starts, retention \(retention)")
    }

    static func executor(
        _ history: KeeperHistory, _ terms: Terms, _ keyring: Keyring?, _ disk: SimulatedDisk,
        _ scheduler: SimulatedScheduler
    ) -> SimulatedStoreExecutor {
        SimulatedStoreExecutor(
            segmentSize: terms.segmentSize, leastPacked: terms.leastPacked, keyring: keyring, disk, scheduler,
            history.record)
    }

    // MARK: The disk

    private static func trouble(_ disk: SimulatedDisk, _ record: Record) {
        switch record.number(0...2) {
        case 0: disk.callsToFault = record.number(0...60)
        case 1: disk.mood.failsToSync = record.pick([2, 5])
        default: disk.callsToLive = record.number(0...80)
        }
    }

    func trouble() { KeeperLife.trouble(disk, record) }

    func calm() { (disk.mood, disk.callsToFault, disk.callsToLive) = (SimulatedDisk.Mood(), nil, nil) }

    // MARK: The end

    /// Stops the daemon.
    /// - Returns: True if it ended with everything written.
    func stop() -> Bool {
        let wasWell = disk.isWell
        var isStopped = false
        service.stop { _ in isStopped = true }
        for _ in 0..<50 where !(isStopped && service.sessions.count == 0) {
            client.deliver()
            scheduler.endTurn()
            executor.takeTurn()
            client.read()
            scheduler.advance(by: .milliseconds(200))
        }
        record.insist(disk.isDown || isStopped, "the stop does not end")
        if wasWell, isStopped { record.count(.stoppedInOrder) }
        return wasWell && isStopped
    }

    func end() {
        let sessions = service.detachSessions()
        disk.end()
        executor.end()
        client.forget()
        service.release(sessions)
    }
}
