import HeadgateCore
import HeadgateData

/// The processes that work for one dispatcher of kind `worker`, and what they have in hand (Behaviour K3): carries out
/// what ``WorkerPool`` orders.
final class Workforce {
    let dispatcher: String
    let barrier = WorkerBarrier()

    // The gate has the senders, and they this.
    private unowned let gate: Headgate
    private let log: Log
    private var pool: WorkerPool
    private var sessions: [WorkerPool.Subscriber: Session] = [:]
    private var work: [WorkerPool.BatchNumber: Work] = [:]
    /// Those who are to be told when a subscriber has left.
    private var farewells: [WorkerPool.Subscriber: [() -> Void]] = [:]
    private var lastBatch: WorkerPool.BatchNumber = 0
    private var alarm: (due: Instant, timer: any Disposable)?

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
        alarm?.timer.dispose()
    }

    /// How long a worker may take, from the next batch on.
    var lease: Duration {
        get { pool.lease }
        set { pool.lease = newValue }
    }

    var isEmpty: Bool { pool.isEmpty }

    // MARK: Subscribers

    /// A client works for the dispatcher from now on, or with other numbers than before.
    func subscribe(_ session: Session, credit: Int, mostEvents: Int) {
        sessions[session.number] = session
        pool.subscribed(session.number, credit: credit, mostEvents: mostEvents)
        proceed()
    }

    /// A client wants nothing more; `then` is called once what it has in hand is settled.
    /// - Returns: false when it does not subscribe.
    func unsubscribe(_ subscriber: WorkerPool.Subscriber, then: @escaping () -> Void) -> Bool {
        guard pool.contains(subscriber) else { return false }
        farewells[subscriber, default: []].append(then)
        pool.unsubscribed(subscriber)
        proceed()
        return true
    }

    /// A client is gone.
    func left(_ subscriber: WorkerPool.Subscriber) {
        pool.gone(subscriber)
        proceed()
    }

    /// A client has taken all that was sent to it.
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

    /// Carries out what the last fact has led to, after which there may be more room.
    private func proceed() {
        carryOut()
        gate.destinationHasRoom(dispatcher)
    }

    private func carryOut() {
        while let order = pool.nextOrder() { perform(order) }
        armAlarm()
        if barrier.set(whyNobody) { gate.barriersChanged() }
    }

    /// Why no batch could be given to anybody, however long one waited for credit; nil when it could.
    private var whyNobody: String? {
        if pool.isAttended { return nil }
        return pool.hasSubscribers ? "no worker answers" : WorkerBarrier.nobody
    }

    private func perform(_ order: WorkerPool.Order) {
        switch order {
        case .give(let number, let subscriber, let loan): give(number, to: subscriber, as: loan)
        case .end(let number, let result): end(number, result)
        case .lose(let number, let subscriber, let cause): lose(number, by: subscriber, cause)
        case .release(let subscriber): release(subscriber)
        }
    }

    private func give(_ number: WorkerPool.BatchNumber, to subscriber: WorkerPool.Subscriber, as loan: WorkerPool.Loan)
    {
        guard let batch = work[number]?.batch, let session = sessions[subscriber] else { return }
        let write = { (writer: inout JSONWriter) in writer.dispatch(batch, of: self.dispatcher) }
        session.ask(WorkerMethods.dispatch.name, params: write) { [weak self] answer in
            if case .failure(.gone) = answer { self?.left(subscriber) }
            self?.answered(loan) { WorkerAnswer.result(of: answer, for: $0) }
        }
        if session.isOverfull { pool.overfull(subscriber) }
    }

    private func answered(_ loan: WorkerPool.Loan, _ result: (Batch) -> SendResult) {
        let number = pool.answered(loan)
        if let done = number.flatMap({ work.removeValue(forKey: $0) }) { done.then(result(done.batch)) }
        proceed()
    }

    /// Later, since a batch may end while it is being sent.
    private func end(_ number: WorkerPool.BatchNumber, _ result: SendResult) {
        guard let done = work.removeValue(forKey: number) else { return }
        gate.scheduler.soon { done.then(result) }
    }

    /// A worker is lost with a batch that it had (Behaviour K3, O4).
    private func lose(_ number: WorkerPool.BatchNumber, by subscriber: WorkerPool.Subscriber, _ cause: String) {
        if let batch = work[number]?.batch, let first = batch.events.first {
            log.tell(
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
        for tell in farewells.removeValue(forKey: subscriber) ?? [] { tell() }
    }

    private func armAlarm() {
        guard pool.nextDeadline != alarm?.due else { return }
        alarm?.timer.dispose()
        alarm = pool.nextDeadline.map { due in
            (due, gate.scheduler.schedule(at: due) { [weak self] in self?.timePassed() })
        }
    }

    private func timePassed() {
        alarm = nil
        pool.timePassed(gate.scheduler.now)
        proceed()
    }
}

extension JSONWriter {
    /// The params of `dispatch`.
    fileprivate mutating func dispatch(_ batch: Batch, of dispatcher: String) {
        beginObject()
        member("dispatcher", dispatcher)
        member("batch", batch.idempotencyKey)
        member("attempt", batch.attempt)
        member("events")
        raw(batch.body)
        endObject()
    }
}

/// Who works for which dispatcher (Behaviour K3).
///
/// A subscription lasts as long as its session. While the settings do not have its dispatcher as one of kind `worker`,
/// nothing comes; when they have it again, it goes on.
final class Workforces {
    // The service has both.
    private unowned let gate: Headgate
    private let log: Log
    private var all: [String: Workforce] = [:]
    private var configured: Set<String> = []

    init(gate: Headgate, log: Log) {
        (self.gate, self.log) = (gate, log)
    }

    /// Those who work, or may work, for a dispatcher.
    func workforce(of dispatcher: String, _ settings: WorkerSettings) -> Workforce {
        if let there = all[dispatcher] { return there }
        let new = Workforce(dispatcher: dispatcher, lease: settings.lease, gate: gate, log: log)
        all[dispatcher] = new
        return new
    }

    /// Those who may subscribe to a dispatcher; nil when it is not one of kind `worker` now.
    func open(_ dispatcher: String) -> Workforce? {
        configured.contains(dispatcher) ? all[dispatcher] : nil
    }

    /// Those who work for a dispatcher, or did so before the settings changed.
    func known(_ dispatcher: String) -> Workforce? {
        all[dispatcher]
    }

    /// Other settings are about to be in force.
    func follow(_ dispatchers: [ConfiguredDispatcher]) {
        configured = []
        for dispatcher in dispatchers {
            guard let settings = dispatcher.kind.settings as? WorkerSettings else { continue }
            configured.insert(dispatcher.id)
            let workforce = workforce(of: dispatcher.id, settings)
            workforce.lease = settings.lease
            gate.registerScopedBarrier(
                workforce.barrier, id: "\(WorkerBarrier.kind):\(dispatcher.id)",
                scopes: [.dispatcher(id: dispatcher.id)])
        }
        for (id, workforce) in all where !configured.contains(id) {
            gate.unregisterScopedBarrier(workforce.barrier)
            if workforce.isEmpty { all[id] = nil }
        }
    }

    /// A client has taken all that was sent to it.
    func drained(_ session: Int) {
        for workforce in all.values { workforce.drained(session) }
    }

    /// A client may work for nobody any more. What it has in hand it may finish.
    /// - Returns: whether it worked for anybody.
    func dismiss(_ session: Int) -> Bool {
        all.values.count { $0.unsubscribe(session) {} } > 0
    }

    /// Nothing comes from a client any more: it works for nobody.
    func subscriberLeft(_ session: Int) {
        for workforce in all.values { workforce.left(session) }
    }
}
