import HeadgateCore
import HeadgateData
import HeadgateSeeds

@testable import HeadgateServer
@testable import HeadgateStore

/// A history of a whole daemon with a small store, which several users fill in turns (Behaviour Q4). The model
/// predicts for each request whether the store has room for its sender.
///
/// The disk never fails and the daemon stops in order, so the model knows exactly which events are stored.
final class ShareHistory {
    /// The name of a namespace that all users share.
    static let common = "common"
    static let queues = ["a", "b"]
    /// The number of steps before the end of a history.
    private static let steps = 110
    /// The most events in one turn. A user with more would wait for another turn.
    private static let mostInTurn = 400

    let record: Record
    let scheduler = SimulatedScheduler()
    let model: ShareModel
    /// The most letters that enlarge an event.
    let mostFilling: Int
    /// The stored ids, by namespace.
    var known: [String: [String: SequenceNumber]] = [:]
    var lastID = 0
    private let medium = SimulatedMedium()
    private let destinations: [ShareDestination]
    private let settings: DataObject
    private let users: [UInt32]
    private var service: Service?
    private var disk: SimulatedDisk
    private var executor: SimulatedStoreExecutor
    private var clients: [ShareClient] = []
    /// The client that sends most.
    private var flooder = 0
    private var inTurn = 0

    init(seed: Seed) {
        record = Record(seed: Seed(seed.number ^ 0x7368_6172))
        let isByBytes = record.oneIn(3)
        let limits = Tally(
            events: isByBytes ? 100_000 : record.pick([11, 20, 40, 100, 300, 1_000, 1_200]),
            bytes: isByBytes ? record.pick([2_000, 5_000, 20_000]) : 1 << 30)
        (model, mostFilling) = (ShareModel(limits: limits), isByBytes ? record.pick([0, 20, 400]) : 0)
        destinations = ShareHistory.queues.map { [model] in ShareDestination($0, model) }
        users = Array([0, 1000, 1001, 1002].prefix(record.number(2...4)))
        (disk, executor) = ShareHistory.store(medium, scheduler, record)
        settings = ShareHistory.settings(limits, mostInBatch: record.pick([1, 5, 100]))
    }

    private static func settings(_ limits: Tally, mostInBatch: Int) -> DataObject {
        let dispatcher: DataObject = [
            "kind": "far", "dispatch_limit": .number(DataNumber(mostInBatch)), "byte_limit": 100_000,
        ]
        return [
            "shutdown_timeout_ms": 1_000,
            "dispatchers": ["a": .object(dispatcher), "b": .object(dispatcher)],
            "store": [
                "max_events": .number(DataNumber(limits.events)), "max_bytes": .number(DataNumber(limits.bytes)),
            ],
            "collectors": ["peer": false, "client": false, "host": false, "network": false],
            "access": ["shared_namespaces": ["common": ["uids": [0, 1000, 1001, 1002]]]],
        ]
    }

    func run(skipping skipped: Set<Int>) throws {
        record.note("\(settings)")
        begin()
        for number in 0..<ShareHistory.steps where !skipped.contains(number) {
            record.beginStep(number)
            act()
            if !record.oneIn(3) { endTurn() }
            if let violation = record.violation { throw violation }
        }
        record.beginStep(ShareHistory.steps)
        rest()
        if let violation = record.violation { throw violation }
    }

    // MARK: Steps

    private func act() {
        switch record.number(0...99) {
        case 0...59: track(record.oneIn(2) ? flooder : record.number(0...clients.count - 1))
        case 60...75: for _ in 0..<record.number(1...4) { record.pick(destinations).answer(record) }
        case 76...83: scheduler.advance(by: .milliseconds(record.pick([100, 3_000, 10_000, 25_000, 70_000])))
        case 84...86: executor.isHeld.toggle()
        case 87...90: flooder = record.number(0...clients.count - 1)
        case 91...93: reconnect()
        case 94: restart()
        default: endTurn()
        }
    }

    private func track(_ index: Int) {
        let most = max(1, min(300, model.limits.events / 4, model.limits.bytes / 400))
        let count = record.pick([1, 1, 1, 2, 4, record.number(1...most), most])
        if inTurn + count > ShareHistory.mostInTurn { endTurn() }
        inTurn += count
        clients[index].track(count)
    }

    private func endTurn() {
        inTurn = 0
        for client in clients { client.deliver() }
        scheduler.endTurn()
        if !record.oneIn(3) { executor.takeTurn() }
        for client in clients { client.read() }
    }

    // MARK: Clients

    private func connect() -> ShareClient? {
        let namespace = record.pick([nil, nil, "shop", "till", ShareHistory.common])
        return service.map { ShareClient(self, record.pick(users), namespace, of: $0) }
    }

    /// Connects a client in place of another one.
    private func reconnect() {
        let index = record.number(0...clients.count - 1)
        guard clients[index].isContent, let client = connect() else { return }
        clients[index].leave()
        clients[index].deliver()
        clients[index] = client
    }

    // MARK: Lives

    private static func store(
        _ medium: SimulatedMedium, _ scheduler: SimulatedScheduler, _ record: Record
    ) -> (SimulatedDisk, SimulatedStoreExecutor) {
        let disk = SimulatedDisk(medium, record)
        return (disk, SimulatedStoreExecutor(segmentSize: 16 << 10, disk, scheduler, record))
    }

    private func begin() {
        do {
            let far = FarKind(destinations: Dictionary(uniqueKeysWithValues: destinations.map { ($0.id, $0) }))
            service = try .simulated(settings, far, executor, disk, scheduler, record)
        } catch {
            return record.insist(false, "the daemon does not start: \(error)")
        }
        clients = (0..<5).compactMap { _ in connect() }
        flooder = 0
    }

    private func restart() {
        quiet { $0.clients.allSatisfy(\.isContent) && $0.executor.isIdle }
        stop()
        (disk, executor) = ShareHistory.store(medium, scheduler, record)
        begin()
    }

    /// Stops the daemon in order.
    private func stop() {
        guard let service else { return }
        record.note("the daemon stops")
        var isStopped = false
        service.stop { _ in isStopped = true }
        for _ in 0..<50 where !(isStopped && service.sessions.count == 0) {
            endTurn()
            executor.takeTurn()
            scheduler.advance(by: .milliseconds(200))
        }
        record.insist(isStopped, "the stop does not end")
        let sessions = service.detachSessions()
        disk.end()
        executor.end()
        for client in clients { client.forget() }
        service.release(sessions)
        self.service = nil
        scheduler.restart()
        model.lifeEnded()
    }

    // MARK: End of the run

    /// Delivers everything. Then the store must be empty.
    private func rest() {
        quiet {
            for destination in $0.destinations { destination.answer($0.record) }
            return $0.model.held == .zero && $0.clients.allSatisfy(\.isContent) && $0.executor.isIdle
        }
        record.insist(service?.gate.stored == .zero, "the store still holds events that are delivered")
        stop()
    }

    private func quiet(_ isDone: (ShareHistory) -> Bool) {
        executor.isHeld = false
        var turns = 0
        while !isDone(self), record.violation == nil {
            endTurn()
            turns += 1
            if turns % 10 == 9 { scheduler.advance(by: .milliseconds(500)) }
            if turns > 5_000 { return record.insist(false, "something does not end") }
        }
    }
}
