import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Dispatchers with a simulated destination: `"kind": "far"`.
struct FarKind: DispatcherKind {
    struct Settings: Sendable, Equatable {
        var isRemote = false
    }

    let name = "far"
    /// The destinations by the ids of their dispatchers.
    let destinations: [String: any Sender]

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings {
        var settings = Settings()
        entry.bool("remote", into: &settings.isRemote)
        common.activationBarrier?.outputs = ["token"]
        return settings
    }

    func reachesNetwork(_ settings: Settings) -> Bool { settings.isRemote }

    func makeSender(
        of dispatcher: String, _ settings: Settings, in context: SenderContext
    ) throws -> any Sender {
        guard let destination = destinations[dispatcher] else {
            throw Violation(description: "no destination of \(dispatcher)")
        }
        return destination
    }
}

/// A destination that answers at random, and a model of the outcome of each event.
final class SimulatedDestination: Sender {
    let format = BatchFormat.jsonArray
    let queue: QueueModel
    /// True if the destination requires the network.
    var isRemote: Bool { id == "b" }
    /// True if the dispatcher is certainly paused, so that no batch may arrive.
    var isPaused = false { didSet { if !isPaused { isPauseKept = false } } }
    /// True if the pause survives a restart (Behaviour B23).
    var isPauseKept = false
    /// True if a resume was confirmed, so that the dispatcher is open after a restart.
    var isResumeKept = false
    var isOffline = false
    /// True if the destination refused its dispatcher, and nothing has released it since (Behaviour D7).
    var isHeld = false
    /// True if an operator may be releasing the refused dispatcher.
    var isOperated: () -> Bool = { false }
    /// True while the destination accepts nothing.
    var isBusy = false
    /// A client's barrier that certainly blocks the dispatcher.
    var closing: () -> String? = { nil }
    /// True if every batch succeeds from now on.
    var isWell = false

    /// The model of the batch keys, if the dispatcher has an activation barrier.
    var key: KeyAccount?
    /// Called with each batch.
    var inspect: (Batch) -> Void = { _ in }

    private let record: Record
    private let scheduler: any Scheduler
    private var waiting: [(batch: Batch, begin: Instant, then: (SendResult) -> Void)] = []
    /// The last random answer, as a number.
    private var lastWord = 0
    /// Batches that are not answered before their timeout.
    private var silent: Set<Int> = []
    private(set) var inFlight: Set<SequenceNumber> = []
    /// All events sent in this life, in order.
    private(set) var sent: [SequenceNumber] = []
    private var charges: Charges
    private var numbers: [String: SequenceNumber] = [:]
    private var order: OrderCheck
    private var hasUniqueIDs = true
    /// The settings promised to the destination, now and at the start of a daemon.
    private(set) var terms: Terms
    private let firstTerms: Terms
    let patience: Patience
    /// True if the dispatcher was removed or does not exist yet; `isGone` is true if that is certain.
    var isRemoved: Bool {
        // A pause ends with its dispatcher, at the latest when the dispatcher's queue is dropped (Behaviour B23).
        didSet { if isRemoved { isPaused = false } }
    }
    var isGone: Bool

    struct Terms {
        var dispatchLimit: Int
        var inFlight: Int
    }

    /// Sets other limits of the dispatcher, which may be in force.
    func setTerms(_ new: Terms) {
        if new.inFlight != terms.inFlight {
            order = OrderCheck(isWhole: false)
            charges.isAlone = false
        }
        terms = new
    }

    init(
        _ queue: QueueModel, _ terms: Terms, _ patience: Patience, _ record: Record, _ scheduler: any Scheduler
    ) {
        self.queue = queue
        (self.terms, firstTerms, self.patience) = (terms, terms, patience)
        (isRemoved, isGone) = (queue.comesLater, queue.comesLater)
        order = OrderCheck(isWhole: terms.inFlight == 1)
        charges = Charges(queue, record, patience, isAlone: terms.inFlight == 1)
        self.record = record
        self.scheduler = scheduler
        queue.agedOut = { [unowned self] in charges.agedOut($0) }
    }

    var id: String { queue.id }

    /// Records that ids may be reused for other events while the earlier events are still pending.
    func forgetIDs() { hasUniqueIDs = false }

    /// Drops the batches in flight and the attempts, which end with the daemon (Behaviour D9).
    func lifeEnded(_ end: LifeEnd) {
        (waiting, silent, inFlight, sent) = ([], [], [], [])
        terms = firstTerms
        charges = Charges(queue, record, patience, isAlone: terms.inFlight == 1)
        (isRemoved, isGone, isHeld) = (queue.comesLater, queue.comesLater, false)
        order = OrderCheck(isWhole: terms.inFlight == 1)
        // The last writes may be lost in a power failure.
        if end == .powerless { numbers = [:] }
        if end == .powerless || !isPauseKept { isPaused = false }
        if end == .powerless { isResumeKept = false }
    }

    /// The number of events that the dispatcher expired or evicted in this life.
    var lost: () -> Int = { 0 }

    var hasWaiting: Bool { !waiting.isEmpty }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        record.note("\(id) gets \(batch.events.map(\.sequenceNumber))")
        record.expect(!isPaused && !isOffline, "\(id) gets a batch although the dispatcher is blocked")
        record.expect(!isGone, "\(id) gets a batch after its removal")
        record.expect(!isHeld, "\(id) gets a batch after it refused the dispatcher")
        record.expect(closing() == nil, "\(id) gets a batch while \(closing() ?? "") is closed")
        record.expect(batch.events.count <= terms.dispatchLimit, "\(id) gets a batch of \(batch.events.count)")
        record.expect(waiting.count < terms.inFlight, "\(id) gets more batches in flight than allowed")
        for event in batch.events { take(event) }
        inspect(batch)
        key?.sent(batch)
        sent += batch.events.map(\.sequenceNumber)
        let problem = order.problem(of: batch.events, unfinished: unfinished)
        record.expect(problem == nil, "\(id) gets \(problem ?? "")")
        waiting.append((batch, scheduler.now, then))
        guard !isWell, record.oneIn(12) else { return }
        silent.insert(batch.number)
        _ = scheduler.schedule(at: scheduler.now + .seconds(3)) { [weak self] in self?.timeOut(batch.number) }
    }

    /// Events that may have ended: possibly dead-lettered for their age, or damaged.
    var unclear: Set<SequenceNumber> { charges.perhapsDead.union(queue.damaged()) }

    /// Events that have certainly not ended.
    private var unfinished: Set<SequenceNumber> {
        lost() == 0 ? queue.waiting.subtracting(unclear) : []
    }

    private func take(_ event: Batch.Event) {
        let number = event.sequenceNumber
        queue.taken(number)
        charges.expect(event)
        record.expect(inFlight.insert(number).inserted, "\(id) gets \(number) twice at once")
        let first = queue.deadLetters.first(number)
        let isOne = numbers[event.id] == nil || numbers[event.id] == first || !hasUniqueIDs
        record.expect(isOne, "\(id) gets two events with id \(event.id)")
        numbers[event.id] = first
    }

    private func timeOut(_ number: Int) {
        guard let index = waiting.firstIndex(where: { $0.batch.number == number }) else { return }
        record.count(.timedOut)
        answer(index, .noAnswer(cause: "timed out"))
    }

    /// Answers one batch if there is any.
    func answerOne() {
        let indexes = waiting.indices.filter { isWell || !silent.contains(waiting[$0].batch.number) }
        guard !indexes.isEmpty else { return }
        let index = record.pick(indexes)
        answer(index, isWell ? .delivered : result(for: waiting[index].batch))
    }

    /// Delivers all batches.
    func take() {
        while !waiting.isEmpty { answer(0, .delivered) }
    }

    /// Permanently refuses all batches.
    func refuse() {
        while !waiting.isEmpty { answer(0, .refused(.init(.never, cause: "HTTP 400", status: 400))) }
    }

    private func result(for batch: Batch) -> SendResult {
        if let key, !queue.isPatchy, key.mayRefuse(batch) {
            // Other outcomes may come between two 401 answers.
            if key.hasRefused, record.oneIn(3) { return .each(batch.events.map { _ in outcome() }) }
            if record.oneIn(2) {
                return .refused(.init(.never, cause: "HTTP 401", isUnauthorized: true, status: 401))
            }
        }
        if patience.mostAge != nil, record.oneIn(4) {
            return .refused(.init(.again, cause: "HTTP 500", retryAfter: .seconds(2), status: 500))
        }
        if isBusy { return .refused(.init(.again, cause: "HTTP 503", isCharged: false, status: 503)) }
        // The answer is often the same as the last one.
        lastWord = record.oneIn(3) ? lastWord : record.number(0...15)
        switch lastWord {
        case 0...3: return .delivered
        case 4...5: return .refused(.init(.again, cause: "HTTP 500", status: 500))
        case 6: return .refused(.init(.again, cause: "HTTP 500", retryAfter: .seconds(2), status: 500))
        case 7: return .refused(.init(.never, cause: "HTTP 400", status: 400))
        case 8: return .refused(.init(.tooLarge, cause: "HTTP 413", isCharged: false, status: 413))
        case 9: return .refused(.init(.notAllowed, cause: "HTTP 401", isCharged: false, status: 401))
        case 10:
            record.count(.answerLost)
            return .noAnswer(cause: "connection reset")
        case 11: return .unsendable(cause: "too long")
        case 12:
            let wait = record.oneIn(2) ? Duration.seconds(2) : nil
            return .refused(.init(.again, cause: "HTTP 503", isCharged: false, retryAfter: wait, status: 503))
        default: return .each(batch.events.map { _ in outcome() })
        }
    }

    private func outcome() -> EventOutcome {
        record.pick([
            .delivered, .delivered, .retry(cause: "busy", charged: true), .retry(cause: "reset", charged: false),
            .dead(.refused, cause: "never"),
        ])
    }

    private func answer(_ index: Int, _ result: SendResult) {
        let (batch, begin, then) = waiting.remove(at: index)
        record.note("\(id) answers \(batch.events.map(\.sequenceNumber)) \(result)")
        if result.says { charges.answering(from: begin, to: scheduler.now) }
        account(batch, result)
        if let floor = result.wait { charges.waits(from: scheduler.now, atLeast: floor) }
        then(result)
        if case .refused(let refusal) = result, refusal.meaning == .notAllowed, !isOperated() {
            record.count(.held)
            isHeld = true
        }
        guard !isWell, record.oneIn(10) else { return }
        // A repeated answer must not affect batches in flight.
        record.count(.answeredTwice)
        then(.delivered)
    }

    func interrupt() {
        while !waiting.isEmpty { answer(0, .interrupted) }
    }

    func close() {}

    // MARK: The account (Behaviour D3 to D9)

    private func account(_ batch: Batch, _ result: SendResult) {
        let events = batch.events.map(\.sequenceNumber)
        inFlight.subtract(events)
        if let key, case .refused(let refusal) = result, refusal.isUnauthorized {
            return account(key.refused(batch), refusal)
        }
        key?.answered(events)
        switch result {
        case .delivered, .partlyRejected: events.forEach(queue.delivered)
        case .refused(let refusal): account(events, refusal)
        case .each(let outcomes):
            record.count(.distinguished)
            for (number, outcome) in zip(events, outcomes) { charges.account(number, outcome, at: scheduler.now) }
        case .unsendable:
            record.count(.neverTaken)
            events.forEach(queue.died)
        case .noAnswer, .lost, .returned, .interrupted: break
        }
    }

    private func account(_ events: [SequenceNumber], _ refusal: SendResult.Refusal) {
        switch refusal.meaning {
        case .again: if refusal.isCharged { for number in events { charges.charge(number, at: scheduler.now) } }
        case .tooLarge where events.count > 1: record.count(.split)
        case .notAllowed: break
        default:
            record.count(.neverTaken)
            events.forEach(queue.died)
        }
    }
}

extension SendResult {
    /// True if the answer says something about the events. An answer that the destination is unavailable or overloaded
    /// does not (decision 27, Behaviour D9).
    fileprivate var says: Bool {
        switch self {
        case .delivered, .partlyRejected: true
        case .refused(let refusal): refusal.isCharged
        case .each(let outcomes): outcomes.contains { if case .retry(_, charged: false) = $0 { false } else { true } }
        case .noAnswer, .lost, .returned, .unsendable, .interrupted: false
        }
    }

    /// The minimum wait that the answer causes, or nil if it causes none.
    fileprivate var wait: Duration? {
        switch self {
        case .refused(let refusal): says && refusal.meaning == .again ? refusal.retryAfter ?? .zero : nil
        case .each(let outcomes):
            says && outcomes.contains { if case .retry = $0 { true } else { false } } ? .zero : nil
        case .delivered, .partlyRejected, .noAnswer, .lost, .returned, .unsendable, .interrupted: nil
        }
    }
}

extension SimulatedDestination.Terms {
    init(_ record: Record) {
        self.init(dispatchLimit: record.number(1...5), inFlight: record.number(1...3))
    }

    /// Returns limits that hold if either of two is in force.
    func union(_ other: SimulatedDestination.Terms) -> SimulatedDestination.Terms {
        .init(dispatchLimit: max(dispatchLimit, other.dispatchLimit), inFlight: max(inFlight, other.inFlight))
    }
}
