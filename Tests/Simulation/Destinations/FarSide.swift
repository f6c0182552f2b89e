import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// Dispatchers whose destination is simulated: `"kind": "far"`.
struct FarKind: DispatcherKind {
    struct Settings: Sendable, Equatable {
        var isRemote = false
    }

    let name = "far"
    let sides: [String: FarSide]

    func read(_ entry: SettingsReader, common: inout DispatcherSettings) -> Settings {
        var settings = Settings()
        entry.bool("remote", into: &settings.isRemote)
        common.activationBarrier?.outputs = ["token"]
        return settings
    }

    func reachesNetwork(_ settings: Settings) -> Bool { settings.isRemote }

    func makeSender(
        of dispatcher: String, _ settings: Settings, in surroundings: SenderSurroundings
    ) throws -> any Sender {
        guard let side = sides[dispatcher] else { throw Violation(description: "no far side \(dispatcher)") }
        return side
    }
}

/// A destination that answers by chance, and the slow and obvious account of what must have become of each event there.
final class FarSide: Sender {
    let format = BatchFormat.jsonArray
    let lane: Lane
    /// Whether the network is needed for it.
    var isRemote: Bool { id == "b" }
    /// Whether the way is closed beyond doubt: nothing may come.
    var isPaused = false { didSet { if !isPaused { isPauseKept = false } } }
    /// Whether it stays closed over a restart (Behaviour B23).
    var isPauseKept = false
    /// Whether an operator was told that the way is open, so that it is after a restart.
    var isResumeKept = false
    var isOffline = false
    /// Whether it refused its dispatcher, and nobody has had a hand in that since (Behaviour D7).
    var isHeld = false
    /// Whether an operator may be having a hand in it.
    var isOperated: () -> Bool = { false }
    /// Whether it takes nothing for a while.
    var isBusy = false
    /// The barrier of a client that closes the way beyond doubt.
    var closing: () -> String? = { nil }
    /// Whether all is answered well from now on.
    var isWell = false

    /// What its batches go under, where a board stands before it.
    var key: KeyAccount?
    /// Looks at what it is sent.
    var look: (Batch) -> Void = { _ in }

    private let record: Record
    private let scheduler: any Scheduler
    private var waiting: [(batch: Batch, begin: Instant, then: (SendResult) -> Void)] = []
    /// What it said last, as a number.
    private var lastWord = 0
    /// Batches that are not answered before their time is over.
    private var silent: Set<Int> = []
    private(set) var inFlight: Set<SequenceNumber> = []
    /// All that it was sent in this life, in order.
    private(set) var sent: [SequenceNumber] = []
    private var charges: Charges
    private var numbers: [String: SequenceNumber] = [:]
    private var order: OrderCheck
    private var hasUniqueIDs = true
    /// What its dispatcher's settings promise it, now and when a daemon begins.
    private(set) var terms: Terms
    private let firstTerms: Terms
    let patience: Patience
    /// Whether it was asked to remove its dispatcher, or there is none yet, and whether that is beyond doubt.
    var isRemoved: Bool {
        // A pause ends with its dispatcher; of one that is there only later, at the latest when its queue is given up (Behaviour B23).
        didSet { if isRemoved { isPaused = false } }
    }
    var isGone: Bool

    struct Terms {
        var dispatchLimit: Int
        var inFlight: Int
    }

    /// Its dispatcher has other limits, or may have.
    func setTerms(_ new: Terms) {
        if new.inFlight != terms.inFlight {
            order = OrderCheck(isWhole: false)
            charges.isAlone = false
        }
        terms = new
    }

    init(
        _ lane: Lane, _ terms: Terms, _ patience: Patience, _ record: Record, _ scheduler: any Scheduler
    ) {
        self.lane = lane
        (self.terms, firstTerms, self.patience) = (terms, terms, patience)
        (isRemoved, isGone) = (lane.comesLater, lane.comesLater)
        order = OrderCheck(isWhole: terms.inFlight == 1)
        charges = Charges(lane, record, patience, isAlone: terms.inFlight == 1)
        self.record = record
        self.scheduler = scheduler
        lane.agedOut = { [unowned self] in charges.agedOut($0) }
    }

    var id: String { lane.id }

    /// Ids may be used again for other events, while those before still wait.
    func forgetIDs() { hasUniqueIDs = false }

    /// What was on its way is answered to nobody, and attempts are forgotten (Behaviour D9).
    func lifeEnded(_ end: LifeEnd) {
        (waiting, silent, inFlight, sent) = ([], [], [], [])
        terms = firstTerms
        charges = Charges(lane, record, patience, isAlone: terms.inFlight == 1)
        (isRemoved, isGone, isHeld) = (lane.comesLater, lane.comesLater, false)
        order = OrderCheck(isWhole: terms.inFlight == 1)
        // What was written last is not promised to be there after a power failure.
        if end == .powerless { numbers = [:] }
        if end == .powerless || !isPauseKept { isPaused = false }
        if end == .powerless { isResumeKept = false }
    }

    /// How many events the dispatcher has let go of by itself in this life.
    var lost: () -> Int = { 0 }

    var hasWaiting: Bool { !waiting.isEmpty }

    func send(_ batch: Batch, then: @escaping (SendResult) -> Void) {
        record.note("\(id) gets \(batch.events.map(\.sequenceNumber))")
        record.expect(!isPaused && !isOffline, "\(id) gets a batch through a closed way")
        record.expect(!isGone, "\(id) gets a batch, and was removed")
        record.expect(!isHeld, "\(id) gets a batch, and refused the dispatcher")
        record.expect(closing() == nil, "\(id) gets a batch, and \(closing() ?? "") is closed")
        record.expect(batch.events.count <= terms.dispatchLimit, "\(id) gets a batch of \(batch.events.count)")
        record.expect(waiting.count < terms.inFlight, "\(id) gets a batch more than it takes at once")
        for event in batch.events { take(event) }
        look(batch)
        key?.sent(batch)
        sent += batch.events.map(\.sequenceNumber)
        let complaint = order.complaint(of: batch.events, unfinished: unfinished)
        record.expect(complaint == nil, "\(id) gets \(complaint ?? "")")
        waiting.append((batch, scheduler.now, then))
        guard !isWell, record.oneIn(12) else { return }
        silent.insert(batch.number)
        _ = scheduler.schedule(at: scheduler.now + .seconds(3)) { [weak self] in self?.timeOut(batch.number) }
    }

    /// Events of which it is not known whether they have ended: those that may have been given up, and what has rotted.
    var unclear: Set<SequenceNumber> { charges.perhapsDead.union(lane.damaged()) }

    /// Events that have not ended, where that is beyond doubt.
    private var unfinished: Set<SequenceNumber> {
        lost() == 0 ? lane.waiting.subtracting(unclear) : []
    }

    private func take(_ event: Batch.Event) {
        let number = event.sequenceNumber
        lane.taken(number)
        charges.expect(event)
        record.expect(inFlight.insert(number).inserted, "\(id) gets \(number) twice at once")
        let first = lane.letters.first(number)
        let isOne = numbers[event.id] == nil || numbers[event.id] == first || !hasUniqueIDs
        record.expect(isOne, "\(id) gets \(event.id) as two events")
        numbers[event.id] = first
    }

    private func timeOut(_ number: Int) {
        guard let place = waiting.firstIndex(where: { $0.batch.number == number }) else { return }
        record.count(.timedOut)
        answer(place, .noAnswer(cause: "timed out"))
    }

    /// Answers one batch, if there is any.
    func answerOne() {
        let places = waiting.indices.filter { isWell || !silent.contains(waiting[$0].batch.number) }
        guard !places.isEmpty else { return }
        let place = record.pick(places)
        answer(place, isWell ? .delivered : result(for: waiting[place].batch))
    }

    /// Takes all that it was sent.
    func take() {
        while !waiting.isEmpty { answer(0, .delivered) }
    }

    /// Refuses for good all that it was sent.
    func refuse() {
        while !waiting.isEmpty { answer(0, .refused(.init(.never, cause: "HTTP 400", status: 400))) }
    }

    private func result(for batch: Batch) -> SendResult {
        if let key, !lane.isPatchy, key.mayRefuse(batch) {
            // Between two 401s it may say something else.
            if key.hasRefused, record.oneIn(3) { return .each(batch.events.map { _ in outcome() }) }
            if record.oneIn(2) {
                return .refused(.init(.never, cause: "HTTP 401", isUnauthorized: true, status: 401))
            }
        }
        if patience.mostAge != nil, record.oneIn(4) {
            return .refused(.init(.again, cause: "HTTP 500", retryAfter: .seconds(2), status: 500))
        }
        if isBusy { return .refused(.init(.again, cause: "HTTP 503", isCharged: false, status: 503)) }
        // Often it says the same again.
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

    private func answer(_ place: Int, _ result: SendResult) {
        let (batch, begin, then) = waiting.remove(at: place)
        record.note("\(id) answers \(batch.events.map(\.sequenceNumber)) \(result)")
        if result.says { charges.heard(from: begin, to: scheduler.now) }
        account(batch, result)
        if let floor = result.wait { charges.waits(from: scheduler.now, atLeast: floor) }
        then(result)
        if case .refused(let refusal) = result, refusal.meaning == .notAllowed, !isOperated() {
            record.count(.held)
            isHeld = true
        }
        guard !isWell, record.oneIn(10) else { return }
        // An answer that comes once more says nothing of what is on its way now.
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
        case .delivered: events.forEach(lane.delivered)
        case .refused(let refusal): account(events, refusal)
        case .each(let outcomes):
            record.count(.toldApart)
            for (number, outcome) in zip(events, outcomes) { charges.account(number, outcome, at: scheduler.now) }
        case .unsendable:
            record.count(.neverTaken)
            events.forEach(lane.died)
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
            events.forEach(lane.died)
        }
    }
}

extension SendResult {
    /// True if the destination judged the events: that it is away or overloaded is no judgement (decision 27, D9).
    fileprivate var says: Bool {
        switch self {
        case .delivered: true
        case .refused(let refusal): refusal.isCharged
        case .each(let outcomes): outcomes.contains { if case .retry(_, charged: false) = $0 { false } else { true } }
        case .noAnswer, .lost, .returned, .unsendable, .interrupted: false
        }
    }

    /// For how long the dispatcher waits at least, where what was said makes it wait.
    fileprivate var wait: Duration? {
        switch self {
        case .refused(let refusal): says && refusal.meaning == .again ? refusal.retryAfter ?? .zero : nil
        case .each(let outcomes):
            says && outcomes.contains { if case .retry = $0 { true } else { false } } ? .zero : nil
        case .delivered, .noAnswer, .lost, .returned, .unsendable, .interrupted: nil
        }
    }
}

extension FarSide.Terms {
    init(_ record: Record) {
        self.init(dispatchLimit: record.number(1...5), inFlight: record.number(1...3))
    }

    /// What holds where these may be in force, or others.
    func union(_ other: FarSide.Terms) -> FarSide.Terms {
        .init(dispatchLimit: max(dispatchLimit, other.dispatchLimit), inFlight: max(inFlight, other.inFlight))
    }
}
