import HeadgateCore

@testable import HeadgateServer

/// The clients: many at once, each with a connection of its own, which are lost with the daemon.
final class Crowd: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let events: KnownEvents
    private var clients: [SimulatedClient] = []
    /// What clients do for the daemon.
    var duties: [any Duty] = []
    /// Who talks to the daemon beside them.
    weak var programs: Programs?
    private var connected = 0
    private var service: Service?
    private var isCalm = false

    /// - Parameter hasFloods: whether they send much at once for one dispatcher alone.
    init(_ record: Record, _ scheduler: SimulatedScheduler, _ ledger: Ledger, hasFloods: Bool) {
        self.record = record
        self.scheduler = scheduler
        events = KnownEvents(ledger)
        events.hasFloods = hasFloods
    }

    // MARK: Lives

    func lifeBegan(_ service: Service) {
        self.service = service
        events.lifeBegan()
    }

    func lifeEnded(_ end: LifeEnd) {
        for client in clients { client.endedWithDaemon() }
        clients = []
        service = nil
    }

    /// What ids were used is not known any more.
    func forgetIDs() { events.places = [:] }

    /// The operator's own connection, which is not lost by chance.
    func connectOperator() -> SimulatedClient {
        connect(isOperator: true)
    }

    /// That connection.
    var operatorsOwn: SimulatedClient? { clients.first(where: \.isOperator) }

    @discardableResult
    private func connect(isOperator: Bool = false) -> SimulatedClient {
        let connection = SimulatedConnection(on: scheduler)
        let client = SimulatedClient(number: connected, connection, record, events, isOperator: isOperator)
        client.duties = duties
        connected += 1
        record.note("\(client.number) connects")
        clients.append(client)
        service?.accept(connection)
        return client
    }

    // MARK: Acts

    var acts: [Act] {
        guard !isCalm else { return [] }
        return [
            Act(35) { [self] in talking()?.sendSomething() }, Act(30, tell), Act(3, change), Act(1, letRead),
            Act(1, callRoll),
        ]
    }

    /// One of those who may send more; nil where there was none, and one connects.
    func talking() -> SimulatedClient? {
        let talking = clients.filter { $0.isTalking && !$0.isOperator }
        guard talking.isEmpty else { return record.pick(talking) }
        connect()
        return nil
    }

    /// One to which nothing is owed, and that reads; nil where there is none, and no room for one more.
    func idle() -> SimulatedClient? {
        let idle = clients.filter { client in
            client.isTalking && client.isContent && !client.isOperator && !client.connection.hasNews
                && client.connection.room == .max && client.connection.outputBytes == 0
        }
        if !idle.isEmpty { return record.pick(idle) }
        guard let service, service.sessions.count < Scene.mostConnections else { return nil }
        return connect()
    }

    /// The loop tells of one connection.
    private func tell() {
        let ready = connections.filter(\.hasNews)
        guard !ready.isEmpty else { return }
        let most = record.pick([1, 7, 60, 400, 5_000])
        if most < 60 { record.count(.cutLine) }
        record.pick(ready).tell(most: most)
    }

    private var connections: [SimulatedConnection] { clients.map(\.connection) + (programs?.connections ?? []) }

    private func change() {
        guard record.number(0...2) > 0, let client = talking() else {
            connect()
            return
        }
        switch record.number(0...5) {
        case 0: client.finish()
        case 1: client.lose()
        case 2...4: client.connection.room = record.pick([0, 0, 50])
        default: client.connection.room = .max
        }
    }

    /// Where there is no room, one who has nothing more to do leaves its place to somebody else.
    func makeRoom() {
        guard let service, service.sessions.count >= Scene.mostConnections else { return }
        clients.first { $0.isTalking && $0.isContent && !$0.isOperator }?.finish()
    }

    /// Somebody looks who is connected.
    private func callRoll() {
        if let idle = idle() { callRoll(idle) }
    }

    private func callRoll(_ asker: SimulatedClient) {
        RollCall(record, asker).begin(clients, programs?.accepted ?? [], at: scheduler.now)
    }

    private func letRead() {
        if !clients.isEmpty { record.pick(clients).connection.room = .max }
    }

    // MARK: Turns

    /// Each reads what has come to it.
    func read() {
        for client in clients { client.read() }
        for client in clients where client.connection.isOpen {
            guard let goneAt = client.connection.peerGoneAt else { continue }
            // Time passes in larger steps than the second that is promised.
            let isDue = scheduler.now > goneAt + .seconds(3)
            record.expect(!isDue, "\(client.number) is long gone, and its connection still there")
        }
    }

    /// The loop tells of every connection.
    /// - Returns: whether there was something to tell.
    func hear() -> Bool {
        let ready = connections.filter(\.hasNews)
        for connection in ready { connection.tell(most: 5_000) }
        return !ready.isEmpty
    }

    func calmDown() {
        isCalm = true
        for client in clients { client.connection.room = .max }
    }

    func goOn() -> Bool { hear() }

    /// A client that is lost or has finished is let go of, and one that stays owes nothing and is owed nothing.
    var isQuiet: Bool {
        clients.allSatisfy(\.isContent) && !connections.contains(where: \.hasNews)
            && service?.sessions.count == clients.count(where: \.isTalking) + (programs?.connections.count ?? 0)
    }

    func check() {
        guard let service else { return }
        record.count(.pausedReading, service.sessions.counters[.pausedReadings])
        let evicted = service.gate.counts.all[.evicted]
        record.expect(
            events.isPurgeUncertain || events.purged <= evicted, "\(events.purged) are told purged, and \(evicted) are")
        guard let operatorsOwn else { return }
        callRoll(operatorsOwn)
        scheduler.endTurn()
        read()
    }
}
