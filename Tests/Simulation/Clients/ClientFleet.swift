import HeadgateCore

@testable import HeadgateServer

/// The simulated clients. Each has its own connection, which ends when the daemon ends.
final class ClientFleet: Actor {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private let events: KnownEvents
    private var clients: [SimulatedClient] = []
    /// Handlers of requests and notifications from the daemon.
    var duties: [any Duty] = []
    /// Programs that also talk to the daemon.
    weak var programs: Programs?
    private var connected = 0
    private var service: Service?
    private var isCalm = false

    /// - Parameter hasFloods: True if clients send many events at once for one dispatcher only.
    init(_ record: Record, _ scheduler: SimulatedScheduler, _ ledger: Ledger, hasFloods: Bool) {
        self.record = record
        self.scheduler = scheduler
        events = KnownEvents(ledger)
        events.hasFloods = hasFloods
    }

    // MARK: Restarts

    func lifeBegan(_ service: Service) {
        self.service = service
        events.lifeBegan()
    }

    func lifeEnded(_ end: LifeEnd) {
        for client in clients { client.endedWithDaemon() }
        clients = []
        service = nil
    }

    /// Forgets which ids were used.
    func forgetIDs() { events.numbers = [:] }

    /// Connects the operator, whose connection is never lost at random.
    func connectOperator() -> SimulatedClient {
        connect(isOperator: true)
    }

    /// The operator's connection.
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

    // MARK: Actions

    var acts: [Act] {
        guard !isCalm else { return [] }
        return [
            Act(35) { [self] in talking()?.sendSomething() }, Act(30, deliver), Act(3, change), Act(1, letRead),
            Act(1, callRoll),
        ]
    }

    /// Returns a client that may send more. If there is none, it connects one and returns nil.
    func talking() -> SimulatedClient? {
        let talking = clients.filter { $0.isTalking && !$0.isOperator }
        guard talking.isEmpty else { return record.pick(talking) }
        connect()
        return nil
    }

    /// Returns a client that has no outstanding answers and reads normally, or nil if there is none.
    func idle() -> SimulatedClient? {
        let idle = clients.filter { client in
            client.isTalking && client.isContent && !client.isOperator && !client.connection.hasNews
                && client.connection.room == .max && client.connection.outputBytes == 0
        }
        if !idle.isEmpty { return record.pick(idle) }
        guard let service, service.sessions.count < Scene.mostConnections else { return nil }
        return connect()
    }

    /// Lets the daemon read from or write to one connection.
    private func deliver() {
        let ready = connections.filter(\.hasNews)
        guard !ready.isEmpty else { return }
        let most = record.pick([1, 7, 60, 400, 5_000])
        if most < 60 { record.count(.cutLine) }
        record.pick(ready).deliver(most: most)
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

    /// Disconnects an idle client if the limit of connections is reached.
    func makeRoom() {
        guard let service, service.sessions.count >= Scene.mostConnections else { return }
        clients.first { $0.isTalking && $0.isContent && !$0.isOperator }?.finish()
    }

    /// Requests `client.list`, and checks the answer.
    private func callRoll() {
        if let idle = idle() { callRoll(idle) }
    }

    private func callRoll(_ asker: SimulatedClient) {
        ClientRoster(record, asker).begin(clients, programs?.accepted ?? [], at: scheduler.now)
    }

    private func letRead() {
        if !clients.isEmpty { record.pick(clients).connection.room = .max }
    }

    // MARK: Turns

    /// Lets every client read its input.
    func read() {
        for client in clients { client.read() }
        for client in clients where client.connection.isOpen {
            guard let goneAt = client.connection.peerGoneAt else { continue }
            // The daemon closes the connection within a second, but the simulated time advances in larger steps.
            let isDue = scheduler.now > goneAt + .seconds(3)
            record.expect(!isDue, "\(client.number) is gone, but its connection is still open")
        }
    }

    /// Lets the daemon serve every connection that is ready.
    /// - Returns: True if any was ready.
    func hear() -> Bool {
        let ready = connections.filter(\.hasNews)
        for connection in ready { connection.deliver(most: 5_000) }
        return !ready.isEmpty
    }

    func calmDown() {
        isCalm = true
        for client in clients { client.connection.room = .max }
    }

    func proceed() -> Bool { hear() }

    /// True if lost and finished clients are gone, and the others have no outstanding answers.
    var isQuiet: Bool {
        clients.allSatisfy(\.isContent) && !connections.contains(where: \.hasNews)
            && service?.sessions.count == clients.count(where: \.isTalking) + (programs?.connections.count ?? 0)
    }

    func check() {
        guard let service else { return }
        record.count(.pausedReading, service.sessions.counters[.pausedReadings])
        let purged = service.gate.counts.all[.purged]
        record.expect(
            events.isPurgeUncertain || events.purged <= purged, "\(events.purged) are reported purged, not \(purged)")
        guard let operatorsOwn else { return }
        callRoll(operatorsOwn)
        scheduler.endTurn()
        read()
    }
}
