import HeadgateCore
import HeadgateData
import HeadgateSeeds

@testable import HeadgateServer

/// One history of a whole service: clients, an operator, destinations, a store and a network that do what chance says, on
/// one thread, without a real clock.
final class History {
    let record: Record
    private let scheduler = SimulatedScheduler()
    private let store: SimulatedStore
    private let sides: [FarSide]
    private let service: Service
    private let events = KnownEvents()
    private var clients: [SimulatedClient] = []
    /// The first client, which is never lost, and asks one thing after the other.
    private let operating: SimulatedClient

    private static let settings: DataObject = [
        "durability": "memory", "shutdown_timeout_ms": 1_000,
        "limits": [
            "max_line_bytes": 4_096, "max_unanswered": 6, "max_output_bytes": 4_000, "max_connections": 4,
            "slow_reader_timeout_ms": 2_000,
        ],
        "store": ["max_events": 50],
        "dispatchers": [
            "a": ["kind": "far", "dispatch_limit": 4, "in_flight": 2, "max_attempts": 3, "backoff": ["cap_ms": 4_000]],
            "b": ["kind": "far", "dispatch_limit": 1, "remote": true, "max_attempts": 3, "backoff": ["cap_ms": 4_000]],
        ],
    ]

    init(seed: Seed) throws {
        let (record, store) = (Record(seed: seed), SimulatedStore(scheduler: scheduler))
        let sides = ["a", "b"].map { [scheduler] in
            FarSide(id: $0, record: record, store: store, scheduler: scheduler)
        }
        (self.record, self.store, self.sides) = (record, store, sides)
        let options = DaemonOptions(socket: "/nowhere/socket", dataDirectory: "/nowhere")
        var configuration = ServerConfiguration(options: options, environment: [:], userID: 0)
        configuration.settings = History.settings
        configuration.makeStore = { _ in store }
        configuration.addDispatcherKind(
            FarKind(sides: Dictionary(uniqueKeysWithValues: sides.map { ($0.id, $0) })))
        service = try Service(
            scheduler: scheduler, loop: nil, configuration: configuration, loaded: try configuration.load(),
            chance: { record.fraction() })
        try service.listen()
        service.networkChanged(.connected(.ethernet))
        operating = SimulatedClient(number: 0, SimulatedConnection(on: scheduler), record, events, store)
        admit(operating)
    }

    func run(steps: Int) throws {
        for _ in 0..<steps {
            step()
            if !record.oneIn(3) { endTurn() }
            if let violation = record.violation { throw violation }
        }
        rest()
        stop()
        if let violation = record.violation { throw violation }
    }

    // MARK: Steps

    private func step() {
        switch record.number(0...99) {
        case 0..<35: talking(record)?.sendSomething()
        case 35..<65: tell()
        case 65..<80: record.pick(sides).answerOne()
        case 80..<86: advance(by: record.pick([1, 50, 400, 1_500]))
        case 86..<91: operate()
        case 91..<94: changeStore()
        case 94..<97: changeClients()
        default: changeWorld()
        }
    }

    private func talking(_ record: Record) -> SimulatedClient? {
        let talking = clients.dropFirst().filter(\.isTalking)
        if talking.isEmpty { connect() }
        return talking.isEmpty ? nil : record.pick(talking)
    }

    private func connect() {
        let client = SimulatedClient(number: clients.count, SimulatedConnection(on: scheduler), record, events, store)
        record.note("\(client.number) connects")
        admit(client)
    }

    private func admit(_ client: SimulatedClient) {
        clients.append(client)
        service.accept(client.connection)
    }

    /// The loop tells of one connection.
    private func tell() {
        let ready = clients.filter(\.connection.hasNews)
        guard !ready.isEmpty else { return }
        let most = record.pick([1, 7, 60, 400, 5_000])
        if most < 60 { record.count(.cutLine) }
        record.pick(ready).connection.tell(most: most)
    }

    private func endTurn() {
        scheduler.endTurn()
        for client in clients { client.read() }
    }

    private func advance(by milliseconds: Int) {
        record.note("\(milliseconds) ms pass")
        scheduler.advance(by: .milliseconds(milliseconds))
    }

    private func operate() {
        guard operating.isContent else { return }
        let side = record.pick(sides)
        switch record.number(0...5) {
        case 0:
            operating.ask("queue.purge", #"{"dispatcher":"\#(side.id)"}"#, .purge)
        case 1...2:
            record.count(.paused)
            let isFlushable = record.oneIn(3)
            let request = isFlushable ? SimulatedClient.Request.other : .way(side, isPaused: true)
            if isFlushable { side.isPaused = false }
            operating.ask("dispatcher.pause", #"{"id":"\#(side.id)","flushable":\#(isFlushable)}"#, request)
        default: resume(side)
        }
    }

    /// From the moment that it is asked for the way may be open.
    private func resume(_ side: FarSide) {
        side.isPaused = false
        operating.ask("dispatcher.resume", #"{"id":"\#(side.id)"}"#, .way(side, isPaused: false))
    }

    private func changeStore() {
        switch record.number(0...3) {
        case 0:
            record.count(.storeHeld)
            record.note("the disk hangs")
            store.hold()
        case 1:
            record.note("the disk is full")
            store.isFull = true
        default: heal()
        }
    }

    private func heal() {
        record.note("the disk is well")
        store.isFull = false
        store.letGo()
    }

    private func changeClients() {
        guard record.number(0...2) > 0, let client = talking(record) else { return connect() }
        switch record.number(0...5) {
        case 0: client.finish()
        case 1: client.lose()
        case 2...4: client.connection.room = record.pick([0, 0, 50])
        default: client.connection.room = .max
        }
    }

    private func changeWorld() {
        switch record.number(0...4) {
        case 0: record.pick(clients).connection.room = .max
        case 1:
            record.count(.clockJumped)
            scheduler.jump(by: Int64(record.pick([-3_600_000, 3_600_000])))
        case 2:
            record.count(.networkLost)
            setNetwork(.disconnected)
        default: setNetwork(.connected(.wifi))
        }
    }

    private func setNetwork(_ state: NetworkState) {
        record.note("the network is \(state.word)")
        service.networkChanged(state)
        sides[1].isOffline = state == .disconnected
    }

    // MARK: The end

    /// All is well and everybody reads: nothing may be left, or stuck.
    private func rest() {
        record.note("all is well")
        heal()
        setNetwork(.connected(.ethernet))
        for side in sides {
            side.isWell = true
            resume(side)
        }
        for client in clients { client.connection.room = .max }
        for _ in 0..<2_000 where !isQuiet && record.violation == nil { goOn() }
        check()
    }

    private func goOn() {
        heal()
        let ready = clients.filter(\.connection.hasNews)
        for client in ready { client.connection.tell(most: 5_000) }
        for side in sides { side.answerOne() }
        endTurn()
        if ready.isEmpty, !sides.contains(where: \.hasWaiting) { advance(by: 500) }
    }

    /// A client that is lost or has finished is let go of, and one that stays owes nothing and is owed nothing.
    private var isQuiet: Bool {
        clients.allSatisfy { $0.isContent && !$0.connection.hasNews }
            && service.gate.stored == .zero && !sides.contains(where: \.hasWaiting)
            && service.sessions.count == clients.count(where: \.isTalking)
            && service.sessions.all.allSatisfy { $0.machine.account == SessionAccount() }
    }

    private func check() {
        record.expect(isQuiet, "something is stuck")
        record.count(.pausedReading, service.sessions.counters[.pausedReadings])
        var evicted = 0
        for side in sides { evicted += check(side) }
        let counts = service.gate.counts.all
        record.expect(counts[.delivered] == sides.reduce(0) { $0 + $1.delivered.count }, "delivered is miscounted")
        record.expect(counts[.dead] == sides.reduce(0) { $0 + $1.dead.count }, "dead is miscounted")
        record.expect(counts[.evicted] == evicted, "evicted is miscounted")
        record.expect(counts[.expired] + counts[.transformedAway] + counts[.quarantined] == 0, "something vanished")
        record.expect(
            events.isPurgeUncertain || events.purged == evicted, "\(events.purged) are told purged, and \(evicted) are")
    }

    /// Every safe event has ended once: delivered, dead, or else purged.
    /// - Returns: how many were purged.
    private func check(_ side: FarSide) -> Int {
        let wanted = Set(store.safe.filter { names(of: $0.value).contains(side.id) }.keys)
        let ended = side.delivered.union(side.dead)
        let purged = wanted.subtracting(ended).count
        record.expect(ended.isSubset(of: wanted), "\(side.id) got what it does not want")
        record.expect(side.delivered.isDisjoint(with: side.dead), "\(side.id) has events that ended twice")
        let summary = service.gate.dispatcherSummaries.first { $0.id == side.id }
        record.expect(summary?.counters[.sent] == side.delivered.count, "\(side.id): sent is miscounted")
        record.expect(summary?.counters[.dead] == side.dead.count, "\(side.id): dead is miscounted")
        record.expect(summary?.counters[.evicted] == purged, "\(side.id): \(purged) events are gone, not counted so")
        return purged
    }

    private func names(of numbers: Set<DispatcherNumber>) -> Set<String> {
        Set(numbers.compactMap { service.gate.dispatcherId(of: $0) })
    }

    /// The daemon stops in order, and lets go of everybody.
    private func stop() {
        var isStopped = false
        service.stop { _ in isStopped = true }
        for _ in 0..<50 where !isStopped || service.sessions.count > 0 {
            for client in clients where client.connection.hasNews { client.connection.tell(most: 5_000) }
            scheduler.endTurn()
            scheduler.advance(by: .milliseconds(200))
        }
        record.expect(isStopped && service.sessions.count == 0, "the stop does not end")
    }
}
