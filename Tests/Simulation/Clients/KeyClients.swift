import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Clients that serve the board before a dispatcher.
final class KeyClients: Actor, Duty {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private unowned let fleet: ClientFleet
    private let destination: SimulatedDestination
    private let account: KeyAccount
    private var serving: [SimulatedClient] = []
    private var runs: [(client: SimulatedClient, request: Int)] = []
    private var isCalm = false

    init(
        _ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ destination: SimulatedDestination,
        _ account: KeyAccount
    ) {
        (self.record, self.scheduler, self.fleet, self.destination, self.account) = (
            record, scheduler, fleet, destination, account
        )
        destination.key = account
        fleet.duties.append(self)
    }

    /// True if the processes serve and answer without delay.
    private var isQuick = false

    func lifeBegan(_ service: Service) {
        isQuick = record.oneIn(2)
    }

    func lifeEnded(_ end: LifeEnd) {
        (serving, runs) = ([], [])
        account.lifeEnded()
    }

    var acts: [Act] {
        if isCalm { return [] }
        let isServed = serving.contains(where: \.isTalking)
        return [
            Act(isServed ? 2 : isQuick ? 100 : 20, serve), Act(runs.isEmpty ? 0 : 60, answer), Act(1, leave),
            Act(destination.hasWaiting ? 30 : 0, destination.answerOne),
            // After a refusal the dispatcher waits before it requests another key.
            Act(account.hasRefused ? 12 : 0) { [scheduler] in scheduler.advance(by: .seconds(2)) },
        ]
    }

    private func serve() {
        guard let client = fleet.talking(), !serving.contains(where: { $0 === client }) else { return }
        serving.append(client)
        client.ask(
            "board.serve", #"{"board":"\#(KeyTerms.board)"}"#,
            .answered { [record] in record.expect($0.isResult, "client \(client.number): refused: \($0)") })
        if isQuick { client.connection.deliver(most: 5_000) }
    }

    private func leave() {
        let there = serving.filter(\.isTalking)
        if !there.isEmpty { record.pick(there).lose() }
    }

    // MARK: Requests to board processes

    let methods: Set = ["board.run"]

    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient) {
        guard params["board"] == .string(KeyTerms.board), let id else { return }
        record.note("\(client.number) is asked for a key")
        // Events in a quarantined group count as pending until they are found missing.
        let mayWait = destination.queue.hasHadSome || !destination.queue.damaged().isEmpty
        record.expect(mayWait, "a key is requested, but \(destination.id) never had an event to send")
        runs.append((client, id))
        if isQuick, !isCalm { answer() }
    }

    private func answer() {
        runs.removeAll { !$0.client.isTalking }
        guard !runs.isEmpty else { return }
        let run = runs.remove(at: record.number(0...runs.count - 1))
        let key = account.newKey()
        switch record.number(0...5) {
        case 0: run.client.answer(run.request, result: #"{"done":false,"output":{"token":"\#(key)"}}"#)
        case 1: run.client.answer(run.request, result: #"{"done":true,"output":{"other":"\#(key)"}}"#)
        default: give(key, run)
        }
        if isQuick { run.client.connection.deliver(most: 5_000) }
    }

    private func give(_ key: String, _ run: (client: SimulatedClient, request: Int)) {
        account.gives(key)
        run.client.answer(run.request, result: #"{"done":true,"output":{"token":"\#(key)"}}"#)
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
    }

    func proceed() -> Bool {
        runs.removeAll { !$0.client.isTalking }
        let due = runs
        runs = []
        for run in due { give(account.newKey(), run) }
        // A connection may be refused because of the limit, until time has passed.
        if !serving.contains(where: \.isTalking) { serve() }
        return !due.isEmpty
    }
}
