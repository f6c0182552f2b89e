import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Clients that work for a dispatcher (Behaviour K3): they subscribe, answer, hang and disconnect.
final class Workers: Actor, Duty {
    private let record: Record
    private let scheduler: SimulatedScheduler
    private unowned let fleet: ClientFleet
    private let destination: WorkerWitness
    /// Clients that subscribed in this life.
    private var workers: [Worker] = []
    private weak var service: Service?
    private var isCalm = false
    /// True if no worker subscribes before the end, so that its pending events keep settled events in the store.
    private let comeLate: Bool

    private final class Worker {
        let client: SimulatedClient
        /// The largest credit that the worker requested.
        var credit = 0
        var mostEvents = 0
        /// True if the worker wants batches. `hasLeft` is true if the end of its subscription was confirmed.
        var wants = false { didSet { changes += 1 } }
        var hasLeft = false
        /// The number of times that the worker subscribed or unsubscribed.
        private(set) var changes = 0
        /// Batches that the worker has not answered.
        var leases: [Lease] = []

        init(_ client: SimulatedClient) {
            self.client = client
        }
    }

    init(_ record: Record, _ scheduler: SimulatedScheduler, _ fleet: ClientFleet, _ destination: WorkerWitness) {
        self.record = record
        self.scheduler = scheduler
        self.fleet = fleet
        self.destination = destination
        comeLate = record.oneIn(6)
        destination.mostAtOnce = { [unowned self] in workers.reduce(0) { $0 + $1.credit } }
        destination.departed = { [unowned self] in workers.count { !$0.client.isTalking } }
        destination.lost = { [unowned self] in counted(.evicted) + counted(.purged) + counted(.expired) }
        destination.delivered = { [unowned self] in counted(.sent) }
        fleet.duties.append(self)
    }

    private func counted(_ counter: DispatcherCounter) -> Int {
        service?.gate.dispatcherSummaries.first { $0.id == destination.queue.id }?.counters[counter] ?? 0
    }

    func lifeBegan(_ service: Service) {
        self.service = service
    }

    func lifeEnded(_ end: LifeEnd) {
        workers = []
        destination.lifeEnded()
    }

    // MARK: Actions

    var acts: [Act] {
        guard !isCalm, !comeLate else { return [] }
        // If events expire in this history, some should expire while they pass from one worker to another.
        let isAgeing = destination.queue.ages.mostAge != nil
        return [
            Act(isAgeing ? 8 : 4, subscribe), Act(12, answer), Act(1, unsubscribe), Act(1, vanish),
            Act(isAgeing && !destination.isIdle ? 40 : 0, outlive),
        ]
    }

    private func subscribe() {
        guard let client = fleet.talking() else { return }
        subscribe(client, credit: record.number(1...3), mostEvents: record.number(1...5))
    }

    private func subscribe(_ client: SimulatedClient, credit: Int, mostEvents: Int) {
        let worker = workers.first { $0.client === client } ?? Worker(client)
        if worker.credit == 0 { workers.append(worker) }
        worker.credit = max(worker.credit, credit)
        worker.mostEvents = max(worker.mostEvents, mostEvents)
        (worker.wants, worker.hasLeft) = (true, false)
        client.ask(
            "dispatcher.subscribe", #"{"id":"\#(destination.queue.id)","credit":\#(credit),"limit":\#(mostEvents)}"#,
            .answered { [record] in record.expect($0.isResult, "\(client.number): subscription refused: \($0)") })
    }

    private func unsubscribe() {
        guard let worker = pick({ $0.wants }) else { return }
        worker.wants = false
        let report = { [unowned self, changes = worker.changes] in left(worker, $0, after: changes) }
        worker.client.ask("dispatcher.unsubscribe", #"{"id":"\#(destination.queue.id)"}"#, .answered(report))
    }

    /// Checks a confirmed unsubscription: unless the worker subscribed again, none of its batches may still be awaited.
    private func left(_ worker: Worker, _ answer: Answer, after changes: Int) {
        guard answer.isResult else { return }
        for lease in worker.leases { lease.isForgotten = true }
        guard worker.changes == changes else { return }
        record.count(.workerLeft)
        worker.hasLeft = true
        // The daemon does not wait for a client that has finished sending.
        let isWaited = worker.client.isTalking && worker.leases.contains(where: destination.isWaited)
        record.expect(!isWaited, "\(worker.client.number) is unsubscribed with batches in flight")
    }

    /// Disconnects a worker with unanswered batches.
    private func vanish() {
        guard let worker = pick({ !$0.leases.isEmpty && !$0.client.isOperator }) else { return }
        record.count(.workerLost)
        if record.oneIn(3) { worker.client.finish() } else { worker.client.lose() }
    }

    /// Lets part of a worker's batch expire and the worker disconnect, so that another worker gets the rest.
    private func outlive() {
        let waits = { [destination] (worker: Worker) in
            worker.leases.lazy.compactMap(destination.timeUntilPartIsOver).first
        }
        guard let worker = pick({ !$0.client.isOperator && waits($0) != nil }), let wait = waits(worker),
            let other = fleet.operatorsOwn, other.isTalking
        else { return }
        subscribe(other, credit: 3, mostEvents: 5)
        other.connection.deliver(most: 5_000)
        scheduler.advance(by: wait)
        record.count(.workerLost)
        worker.client.lose()
        worker.client.connection.deliver(most: 5_000)
    }

    private func pick(_ isMatch: (Worker) -> Bool) -> Worker? {
        let those = workers.filter { $0.client.isTalking && isMatch($0) }
        return those.isEmpty ? nil : record.pick(those)
    }

    // MARK: Work

    let methods: Set = ["dispatch"]

    func came(_ method: String, _ params: DataObject, id: Int?, to client: SimulatedClient) {
        let lease = id.flatMap { Lease(params, client: client.number, request: $0, readAt: scheduler.now) }
        guard let lease, let worker = workers.first(where: { $0.client === client }) else {
            return record.expect(false, "\(client.number) gets a batch without a subscription")
        }
        worker.leases.append(lease)
        record.note("\(client.number) is given \(lease.ids)")
        record.expect(!worker.hasLeft, "\(client.number) gets a batch after it unsubscribed")
        record.expect(lease.ids.count <= worker.mostEvents, "\(client.number) gets \(lease.ids.count) events")
        let count = worker.leases.count { !$0.isForgotten }
        record.expect(count <= worker.credit, "\(client.number) gets \(count) batches at once")
        lease.isHung = !isCalm && record.oneIn(destination.queue.ages.mostAge == nil ? 10 : 4)
        destination.read(lease)
    }

    private func answer() {
        guard let worker = pick({ $0.leases.contains(where: mayAnswer) }) else { return }
        let lease = record.pick(worker.leases.filter(mayAnswer))
        worker.leases.removeAll { $0 === lease }
        if scheduler.now > lease.readAt + destination.terms.lease { record.count(.workerLate) }
        switch record.number(0...9) {
        case 0...1: refuse(lease, of: worker.client)
        case 2...4: settle(lease, of: worker.client, lease.ids.map { _ in record.pick(WorkerWord.allCases) })
        default: settle(lease, of: worker.client, lease.ids.map { _ in .delivered })
        }
    }

    /// Answers with an error or an invalid result, so that all events are retried.
    private func refuse(_ lease: Lease, of client: SimulatedClient) {
        record.count(.workRefused)
        lease.answer = lease.ids.map { _ in .retry }
        guard record.oneIn(2) else { return client.answer(lease.request, error: "not now") }
        client.answer(lease.request, result: #"{"outcomes":{"nobody":"dead"}}"#)
    }

    /// Returns true if the worker answers now. Some workers hang until the lease has ended.
    private func mayAnswer(_ lease: Lease) -> Bool {
        !lease.isHung || scheduler.now > lease.readAt + destination.terms.lease
    }

    /// Answers with outcomes. An event that is not named is delivered.
    private func settle(_ lease: Lease, of client: SimulatedClient, _ words: [WorkerWord]) {
        lease.answer = words
        let named = zip(lease.ids, words).filter { $0.1 != .delivered || record.oneIn(2) }
        let outcomes = named.map { #""\#($0.0)":"\#($0.1)""# }.joined(separator: ",")
        client.answer(lease.request, result: named.isEmpty ? "{}" : #"{"outcomes":{\#(outcomes)}}"#)
    }

    // MARK: End of the run

    func calmDown() {
        isCalm = true
    }

    func proceed() -> Bool {
        if !workers.contains(where: { $0.client.isTalking && $0.wants }), let client = fleet.operatorsOwn {
            subscribe(client, credit: 2, mostEvents: 5)
        }
        var wasBusy = false
        for worker in workers where worker.client.isTalking && !worker.leases.isEmpty {
            for lease in worker.leases { settle(lease, of: worker.client, lease.ids.map { _ in .delivered }) }
            worker.leases = []
            wasBusy = true
        }
        return wasBusy
    }

    var isQuiet: Bool { destination.isIdle && workers.allSatisfy { !$0.client.isTalking || $0.leases.isEmpty } }

    func check() {
        let summary = service?.gate.dispatcherSummaries.first { $0.id == destination.queue.id }
        destination.queue.check(summary?.counters)
    }
}
