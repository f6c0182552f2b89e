import HeadgateCore
import HeadgateData
import HeadgateWire

@testable import HeadgateServer

/// Clients that watch, may be slow, and disconnect (Behaviour B10). Their notifications must agree with the actual
/// state.
final class WatchClients: Actor, Duty {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private unowned let fleet: ClientFleet
    private let ledger: Ledger
    private let nature: Nature
    /// All watches requested in this life.
    private var watches: [WatchAccount] = []
    private var service: Service?
    private var isCalm = false

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ ledger: Ledger, _ nature: Nature) {
        (self.record, self.scheduler, self.fleet, self.ledger, self.nature) = (record, scheduler, fleet, ledger, nature)
        fleet.duties.append(self)
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    func lifeEnded(_ end: LifeEnd) {
        (watches, service) = ([], nil)
    }

    // MARK: Actions

    var acts: [Act] {
        if isCalm { return [] }
        // A change that only a barrier watch reports would soon be reported by other changes too, so it is compared
        // quickly.
        let haste = nature.isUnseen && watches.contains { $0.isOn && $0.topics.contains(.barriers) } ? 80 : 4
        return [Act(5, watch), Act(3, end), Act(1, vanish), Act(3, beSlow), Act(haste, compare)]
    }

    private func watch() {
        guard let client = fleet.talking() else { return }
        guard record.oneIn(12) else {
            return watch(client, Set([0, 1, 2, 3].filter { _ in record.oneIn(2) }.map(topic)))
        }
        for _ in 0...Watches.mostPerSession { watch(client, [.clients]) }
    }

    private func topic(_ number: Int) -> WatchTopic { WatchTopic.allCases[number] }

    /// Requests a watch.
    /// - Parameter topics: An empty set stands for all topics.
    private func watch(_ client: SimulatedClient, _ topics: Set<WatchTopic>) {
        let account = WatchAccount(client, topics.isEmpty ? Set(WatchTopic.allCases) : topics)
        watches.append(account)
        watchWrites(of: client)
        let words = WatchTopic.allCases.filter(topics.contains).map { "\"\($0.rawValue)\"" }.joined(separator: ",")
        client.ask(
            "watch", topics.isEmpty ? "{}" : #"{"topics":[\#(words)]}"#, .answered { [self] in begun(account, $0) })
    }

    private func begun(_ account: WatchAccount, _ answer: Answer) {
        let others = watches.count { $0.client === account.client && $0.isThere }
        switch answer {
        case .result(let result):
            account.id = result.get(key: "watch")
            record.expect(account.id != nil, "a watch has no id")
            record.expect(others < Watches.mostPerSession, "\(account.client.number) has \(others + 1) watches")
        case .refused(let reason, _):
            record.count(.watchRefused)
            let isSo = reason == "limit" && others >= Watches.mostPerSession
            record.expect(isSo, "client \(account.client.number): watch refused: \(reason)")
        }
    }

    /// Ends a watch, mostly one of the client's own.
    private func end() {
        guard let watch = pick(), let client = record.oneIn(5) ? fleet.talking() : watch.client, let id = watch.id
        else { return }
        client.ask(
            "unwatch", #"{"watch":"\#(id)"}"#,
            .answered { [self] answer in
                record.expect(
                    answer.isResult == (client === watch.client && !watch.hasEnded),
                    "\(client.number) ends \(id) of \(watch.client.number): \(answer)")
                guard answer.isResult else { return }
                record.count(.watchEnded)
                watch.hasEnded = true
            })
    }

    /// Disconnects a watcher.
    private func vanish() {
        guard let watch = pick(), !watch.client.isOperator else { return }
        record.count(.watcherLost)
        if record.oneIn(3) { watch.client.finish() } else { watch.client.lose() }
    }

    /// Lets a watcher read only a little from now on.
    private func beSlow() {
        guard let watch = pick(), watch.client.connection.outputBytes == 0 else { return }
        record.count(.watcherSlow)
        watch.client.connection.room = record.pick([0, 30, 300])
    }

    private func pick() -> WatchAccount? {
        let on = watches.filter(\.isOn)
        return on.isEmpty ? nil : record.pick(on)
    }

    // MARK: Notifications

    let methods: Set = ["changed"]

    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient) {
        guard let (watch, topic) = watchAndTopic(params, client) else { return }
        record.note("client \(client.number) is notified of \(topic.rawValue)")
        record.expect(!watch.hasEnded, "client \(client.number): an ended watch reports \(topic.rawValue)")
        let problem = watch.take(topic, params, isWhole: isWhole)
        record.expect(problem == nil, "wrong notification to client \(client.number): \(problem ?? "")")
        if params.getArray(key: "removed", of: String.self)?.isEmpty == false { record.count(.removalReported) }
    }

    private func watchAndTopic(_ params: DataObject, _ client: SimulatedClient) -> (WatchAccount, WatchTopic)? {
        let name = params.get(key: "watch", as: String.self)
        let watch = watches.first { $0.client === client && $0.id == name && name != nil }
        let topic = params.get(key: "topic", as: String.self).flatMap(WatchTopic.init)
        if let watch, let topic { return (watch, topic) }
        record.expect(false, "client \(client.number) is notified by \(name ?? "no watch"), not its own watch")
        return nil
    }

    /// Returns true if a dispatcher existed all the time, so that its counters cover all outcomes.
    private func isWhole(_ dispatcher: String) -> Bool { !ledger.queue(dispatcher).isPatchy }

    /// Checks that a client with unsent output gets no notification, and that no topic is sent twice at the same
    /// moment.
    private func watchWrites(of client: SimulatedClient) {
        client.connection.wrote = { [unowned self, unowned client] bytes, isBlocked in
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                guard case .object(let message)? = try? DataItem(parsing: Array(line)),
                    message.get(key: "method") == "changed",
                    let params = message.get(key: "params", as: DataObject.self)
                else { continue }
                written(params, to: client, isBlocked: isBlocked)
            }
        }
    }

    private func written(_ params: DataObject, to client: SimulatedClient, isBlocked: Bool) {
        record.expect(!isBlocked, "client \(client.number) is notified while it has unsent output")
        let name = params.get(key: "watch", as: String.self)
        guard let topic = params.get(key: "topic", as: String.self).flatMap(WatchTopic.init),
            let watch = watches.first(where: { $0.client === client && $0.id == name })
        else { return }
        let isTime = watch.written(topic, at: scheduler.now)
        record.expect(isTime, "client \(client.number): \(topic.rawValue) is sent twice at once")
    }

    // MARK: Checks of the state

    /// Checks that a client that reads soon knows the actual state.
    private func compare() {
        guard let watch = pick(), watch.client.connection.room == .max, watch.client.connection.outputBytes == 0
        else { return }
        if watch.topics.contains(.barriers) { nature.isUnseen = false }
        record.note("client \(watch.client.number) compares its watched state")
        if watch.topics.contains(.dispatchers) { expectToKnowStates(watch) }
        expectToKnow(watch)
        if watch.isOn { record.count(.watcherKnows) }
    }

    /// Checks that the states of dispatchers are reported within 5 ms, whatever else is counted.
    private func expectToKnowStates(_ watch: WatchAccount) {
        for _ in 0..<3 {
            scheduler.advance(by: .milliseconds(5))
            scheduler.endTurn()
            fleet.read()
            guard watch.isOn, let service else { return }
            if watch.known.states == WatchedState(service).states { return }
        }
        record.expect(false, "\(watch.client.number) is not notified in time of states")
    }

    private func expectToKnow(_ watch: WatchAccount) {
        var unknown: String?
        for _ in 0..<20 {
            scheduler.advance(by: .milliseconds(60))
            scheduler.endTurn()
            fleet.read()
            guard watch.isOn, let service else { return }
            unknown = watch.unknown(of: WatchedState(service), isWhole: isWhole)
            if unknown == nil { return }
        }
        record.expect(false, "client \(watch.client.number) is not notified of \(unknown ?? "")")
    }

    // MARK: End of the run

    /// Lets the operator watch everything until the end.
    func calmDown() {
        isCalm = true
        if let client = fleet.operatorsOwn { watch(client, []) }
    }

    func check() {
        for watch in watches where watch.isOn { expectToKnow(watch) }
    }
}
