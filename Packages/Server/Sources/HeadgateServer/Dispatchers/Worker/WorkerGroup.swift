import HeadgateCore
import HeadgateData

/// The workers of one dispatcher of kind `worker`, and the batches that they have (Behaviour K3). Carries out the
/// orders of ``WorkerPool``.
final class WorkerGroup {
    let dispatcher: String
    let barrier = WorkerBarrier()

    // Unowned: the gate owns the senders, which own this group.
    private unowned let gate: Headgate
    private let log: Log
    private var pool: WorkerPool
    private var sessions: [WorkerPool.Subscriber: Session] = [:]
    private var work: [WorkerPool.BatchNumber: Work] = [:]
    /// The callbacks to call when a subscriber has left.
    private var onUnsubscribed: [WorkerPool.Subscriber: [() -> Void]] = [:]
    private var lastBatch: WorkerPool.BatchNumber = 0
    private var timer: (due: Instant, handle: any Disposable)?

    private struct Work {
        let batch: Batch
        let then: (SendResult) -> Void
    }

    init(dispatcher: String, lease: Duration, gate: Headgate, log: Log) {
        self.dispatcher = dispatcher
        (self.gate, self.log) = (gate, log)
        pool = WorkerPool(lease: lease)
    }

    deinit {
        timer?.handle.dispose()
    }

    /// The time that a worker may keep a batch. A change applies from the next batch.
    var lease: Duration {
        get { pool.lease }
        set { pool.lease = newValue }
    }

    /// The users to whom the dispatcher restricts its workers, or nil for no restriction (Behaviour X1).
    var workers: AccessSettings.Grant?

    var isEmpty: Bool { pool.isEmpty }

    // MARK: Subscribers

    /// Adds a client as a worker, or changes its credit and the most events of its batches.
    func subscribe(_ session: Session, credit: Int, mostEvents: Int) {
        sessions[session.number] = session
        pool.subscribed(session.number, credit: credit, mostEvents: mostEvents)
        proceed()
    }

    /// Ends a client's subscription.
    /// - Parameter then: called once the client's batches are settled.
    /// - Returns: false if the client does not subscribe.
    func unsubscribe(_ subscriber: WorkerPool.Subscriber, then: @escaping () -> Void) -> Bool {
        guard pool.contains(subscriber) else { return false }
        onUnsubscribed[subscriber, default: []].append(then)
        pool.unsubscribed(subscriber)
        proceed()
        return true
    }

    /// Removes a client that sends nothing more.
    func left(_ subscriber: WorkerPool.Subscriber) {
        pool.gone(subscriber)
        proceed()
    }

    /// Notes that a client has read all its output, so that it may get batches again.
    func drained(_ subscriber: WorkerPool.Subscriber) {
        if pool.drained(subscriber) { proceed() }
    }

    // MARK: Batches

    var capacity: SenderCapacity { pool.capacity }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        lastBatch += 1
        work[lastBatch] = Work(batch: batch, then: then)
        pool.took(lastBatch, events: batch.events.count, now: gate.scheduler.now)
        carryOut()
    }

    func interrupt() {
        pool.interrupted()
        proceed()
    }

    // MARK: Effects

    /// Carries out the pool's pending orders. Then tells the dispatcher that there may be room for more batches.
    private func proceed() {
        carryOut()
        gate.dispatchers.destinationHasRoom(dispatcher)
    }

    private func carryOut() {
        while let order = pool.nextOrder() { perform(order) }
        armTimer()
        if barrier.set(causeOfBlock) { gate.barriersChanged() }
    }

    /// The reason why no worker takes batches, not even once its present batches are settled, or nil if some worker
    /// does.
    private var causeOfBlock: String? {
        if pool.isAttended { return nil }
        return pool.hasSubscribers ? "no subscribed worker answers" : WorkerBarrier.noSubscriber
    }

    private func perform(_ order: WorkerPool.Order) {
        switch order {
        case .give(let number, let subscriber, let leaseID): give(number, to: subscriber, as: leaseID)
        case .end(let number, let result): end(number, result)
        case .lose(let number, let subscriber, let cause): lose(number, by: subscriber, cause)
        case .release(let subscriber): release(subscriber)
        }
    }

    private func give(
        _ number: WorkerPool.BatchNumber, to subscriber: WorkerPool.Subscriber, as leaseID: WorkerPool.LeaseID
    ) {
        guard let batch = work[number]?.batch, let session = sessions[subscriber] else { return }
        let write = { [dispatcher] (writer: inout JSONWriter) in
            WorkerMessages.params.writeObject((dispatcher, batch), into: &writer)
        }
        session.ask(WorkerMessages.dispatch.name, params: write) { [weak self] answer in
            if case .failure(.gone) = answer { self?.left(subscriber) }
            self?.answered(leaseID) { WorkerAnswer.result(of: answer, for: $0) }
        }
        if session.isOverfull { pool.overfull(subscriber) }
    }

    private func answered(_ leaseID: WorkerPool.LeaseID, _ result: (Batch) -> SendResult) {
        let number = pool.answered(leaseID)
        if let done = number.flatMap({ work.removeValue(forKey: $0) }) { done.then(result(done.batch)) }
        proceed()
    }

    /// Ends a batch. Its callback is called later, because this method may be called while the batch is being sent.
    private func end(_ number: WorkerPool.BatchNumber, _ result: SendResult) {
        guard let done = work.removeValue(forKey: number) else { return }
        gate.scheduler.soon { done.then(result) }
    }

    /// Logs the loss of a worker with a batch, and ends the batch (Behaviour K3, O4).
    private func lose(_ number: WorkerPool.BatchNumber, by subscriber: WorkerPool.Subscriber, _ cause: String) {
        if let batch = work[number]?.batch, let first = batch.events.first {
            log.write(
                .workerLost,
                [
                    "dispatcher": .string(dispatcher), "events": .number(DataNumber(batch.events.count)),
                    "worker": .string(sessions[subscriber]?.asOwner.name ?? "a worker"), "cause": .string(cause),
                    "id": .string(first.plainId), "attempt": .number(DataNumber(batch.attempt)),
                ])
        }
        end(number, .lost(cause: cause))
    }

    private func release(_ subscriber: WorkerPool.Subscriber) {
        if !pool.contains(subscriber) { sessions[subscriber] = nil }
        for notify in onUnsubscribed.removeValue(forKey: subscriber) ?? [] { notify() }
    }

    private func armTimer() {
        guard pool.nextDeadline != timer?.due else { return }
        timer?.handle.dispose()
        timer = pool.nextDeadline.map { due in
            (due, gate.scheduler.schedule(at: due) { [weak self] in self?.timePassed() })
        }
    }

    private func timePassed() {
        timer = nil
        pool.timePassed(gate.scheduler.now)
        proceed()
    }
}

/// The worker groups of all dispatchers (Behaviour K3).
///
/// A subscription lasts as long as its session. If the settings remove its dispatcher or change the dispatcher's kind,
/// the worker gets no batches until the settings are changed back.
final class WorkerGroups {
    // Unowned: the service owns both.
    private unowned let gate: Headgate
    private let log: Log
    private var all: [String: WorkerGroup] = [:]
    private var configured: Set<String> = []

    init(gate: Headgate, log: Log) {
        (self.gate, self.log) = (gate, log)
    }

    /// Returns the worker group of a dispatcher. Creates it if needed.
    func workerGroup(of dispatcher: String, _ settings: WorkerSettings) -> WorkerGroup {
        if let there = all[dispatcher] { return there }
        let new = WorkerGroup(dispatcher: dispatcher, lease: settings.lease, gate: gate, log: log)
        all[dispatcher] = new
        return new
    }

    /// Returns the worker group that clients may subscribe to, or nil if the dispatcher is not of kind `worker` now.
    func open(_ dispatcher: String) -> WorkerGroup? {
        configured.contains(dispatcher) ? all[dispatcher] : nil
    }

    /// Returns the worker group of a dispatcher, even if the settings have removed the dispatcher. Returns nil if there
    /// is none.
    func known(_ dispatcher: String) -> WorkerGroup? {
        all[dispatcher]
    }

    /// Creates and removes worker groups for new settings.
    func follow(_ dispatchers: [(id: String, settings: WorkerSettings)]) {
        configured = []
        for (id, settings) in dispatchers {
            configured.insert(id)
            let workerGroup = workerGroup(of: id, settings)
            (workerGroup.lease, workerGroup.workers) = (settings.lease, settings.workers)
            gate.registerScopedBarrier(
                workerGroup.barrier, id: "\(WorkerBarrier.kind):\(id)", scopes: [.dispatcher(id: id)])
        }
        for (id, workerGroup) in all where !configured.contains(id) {
            gate.unregisterScopedBarrier(workerGroup.barrier)
            if workerGroup.isEmpty { all[id] = nil }
        }
    }

    /// Notes that a client has read all its output.
    func drained(_ session: Int) {
        for workerGroup in all.values { workerGroup.drained(session) }
    }

    /// Ends all subscriptions of a client that has lost the right to work. Its batches may finish.
    /// - Returns: true if the client had a subscription.
    func dismiss(_ session: Int) -> Bool {
        all.values.count { $0.unsubscribe(session) {} } > 0
    }

    /// Ends the subscriptions of a client that the dispatchers' settings exclude now. Its batches may finish.
    /// - Returns: true if the client had such a subscription.
    func dismissExcluded(_ session: Session) -> Bool {
        all.values.count { !session.caller.mayWork(for: $0.workers) && $0.unsubscribe(session.number) {} } > 0
    }

    /// Removes a client from all worker groups, because the client sends nothing more.
    func subscriberLeft(_ session: Int) {
        for workerGroup in all.values { workerGroup.left(session) }
    }
}
