import HeadgateCore
import HeadgateCoreTesting

/// A simple model of the gate that follows the rules literally. It observes a real gate and checks each batch that the
/// gate sends, and each counter.
final class GateModel {
    let profile: ModelProfile
    let bench: GateBench
    var dispatchers: [String: ModelDispatcher] = [:]
    var doors = [ModelBarrier(id: "north"), ModelBarrier(id: "south")]
    var flushes: [String: ModelFlush] = [:]
    /// Every event that was stored.
    var stored: [SequenceNumber: ModelEvent] = [:]
    /// Events that were offered and not yet stored or refused.
    var offered: [SequenceNumber: ModelEvent] = [:]
    var numbers: [String: SequenceNumber] = [:]
    /// True if all settlements are written to the store.
    var isWrittenDown = true
    /// The first violation of a rule.
    var failure: ModelFailure?

    init(profile: ModelProfile, bench: GateBench) {
        self.profile = profile
        self.bench = bench
        for settings in bench.dispatchers { dispatchers[settings.id] = ModelDispatcher(settings: settings) }
    }

    var ids: [String] { dispatchers.keys.sorted() }

    func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition, failure == nil { failure = ModelFailure(message()) }
    }

    /// When the gate was started.
    var startedAt = Instant(nanoseconds: 0)
    static let sweepingTime = Duration.seconds(30)

    var now: Instant { bench.scheduler.now }

    // MARK: Sending

    /// Checks a batch that the gate sends to a dispatcher.
    func sent(_ batch: Batch, to id: String) {
        guard let dispatcher = dispatchers[id] else { return expect(false, "a batch for an unknown dispatcher") }
        let numbers = batch.events.map(\.sequenceNumber)
        expect(!numbers.isEmpty && numbers.count <= dispatcher.settings.dispatchLimit, "a batch of \(numbers.count)")
        expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "\(id): out of order: \(numbers)")
        for number in numbers { checkMaySend(number, dispatcher) }
        checkOpen(numbers, dispatcher)
        checkOrder(numbers, dispatcher)
        checkAttempts(batch, dispatcher)
        checkReasons(batch, dispatcher)
        dispatchers[id]?.inFlight.formUnion(numbers)
    }

    private func checkMaySend(_ number: SequenceNumber, _ dispatcher: ModelDispatcher) {
        let id = dispatcher.id
        expect(dispatcher.unsettled.contains(number), "\(id): \(number) is sent, but is settled or not stored")
        expect(!dispatcher.inFlight.contains(number), "\(id): \(number) is sent while in flight")
        expect(!dispatcher.vanished.contains(number), "\(id): \(number) is sent after a later one overtook it")
        expect(!isExpired(number), "\(id): \(number) is sent although expired")
    }

    /// Behaviour B1, B2, F1: no event is sent while its dispatcher is blocked.
    private func checkOpen(_ numbers: [SequenceNumber], _ dispatcher: ModelDispatcher) {
        let pending = bench.summary(of: dispatcher.id).pending + numbers.count
        if isOpen(dispatcher, pending: pending) { return }
        let target = flushTarget(of: dispatcher.id)
        expect(
            isOpenForFlush(dispatcher) && numbers.allSatisfy { $0 <= target },
            "\(dispatcher.id): \(numbers) are sent although the dispatcher is blocked")
    }

    /// True if a dispatcher may send. No minimum batch size applies while half of a batch waits that was too large or
    /// whose worker was lost (Behaviour D6, K3).
    func isOpen(_ dispatcher: ModelDispatcher, pending: Int) -> Bool {
        let first = dispatcher.unsettled.subtracting(dispatcher.inFlight).min() ?? 0
        let threshold = min(dispatcher.batchSize ?? 1, dispatcher.settings.dispatchLimit)
        return doors.allSatisfy { $0.lets(dispatcher.id, flushing: false) } && !dispatcher.isPaused
            && dispatcher.waitsUntil <= now
            && (pending >= threshold || first <= dispatcher.halvedThrough || dispatcher.shares[first] != nil)
    }

    /// Returns the newest event up to which a dispatcher is being flushed, or 0 if there is no flush.
    func flushTarget(of id: String) -> SequenceNumber {
        flushes.values.filter { $0.covered[id] != nil }.map(\.target).max() ?? 0
    }

    func isOpenForFlush(_ dispatcher: ModelDispatcher) -> Bool {
        doors.allSatisfy { $0.lets(dispatcher.id, flushing: true) } && dispatcher.waitsUntil <= now
            && (!dispatcher.isPaused || dispatcher.isPauseFlushable)
    }

    /// Behaviour Q2: events are sent in order of their sequence number. With several batches in flight, an event is
    /// held back only by an older event of its key that is in flight.
    private func checkOrder(_ numbers: [SequenceNumber], _ dispatcher: ModelDispatcher) {
        let id = dispatcher.id
        expect(dispatcher.settings.inFlight > 1 || dispatcher.inFlight.isEmpty, "\(id): two batches in flight")
        let sent = Set(numbers)
        let older = dispatcher.unsettled.filter { $0 < numbers[numbers.count - 1] && !sent.contains($0) }
        for number in older.sorted() where !dispatcher.inFlight.contains(number) {
            if isBlocked(number, dispatcher) { continue }
            expect(isExpired(number) || profile.dropsOldest, "\(id): \(number) is overtaken by \(numbers)")
            dispatchers[id]?.vanished.insert(number)
        }
        for number in numbers where dispatcher.settings.inFlight > 1 {
            expect(!isBlocked(number, dispatcher), "\(id): \(number) does not wait for an older one of its key")
        }
    }

    private func isBlocked(_ number: SequenceNumber, _ dispatcher: ModelDispatcher) -> Bool {
        guard let key = stored[number]?.key else { return false }
        return dispatcher.inFlight.contains { $0 < number && stored[$0]?.key == key }
    }

    private func checkAttempts(_ batch: Batch, _ dispatcher: ModelDispatcher) {
        let shares = batch.events.compactMap { dispatcher.shares[$0.sequenceNumber] }
        expect(shares.isEmpty || shares.count == batch.events.count, "half of a lost batch is sent with other events")
        expect(batch.events.count <= shares.min() ?? .max, "\(batch.events.count) in a half, not \(shares)")
        for event in batch.events {
            let attempt = dispatcher.attempts[event.sequenceNumber, default: 0] + 1
            let text = String(decoding: batch.body[event.range], as: UTF8.self)
            expect(text.contains(#""seq":\#(event.sequenceNumber),"#), "\(event.sequenceNumber) is sent as \(text)")
            expect(text.contains(#""attempt":\#(attempt),"#), "attempt \(attempt) is sent as \(text)")
        }
    }

    /// True if the time to live of an event had ended `span` ago.
    func isExpired(_ number: SequenceNumber, before span: Duration = .zero) -> Bool {
        guard let expiry = stored[number]?.expiry else { return false }
        return expiry <= now.nanoseconds / 1_000_000 - span.wholeMilliseconds
    }

    // MARK: Storing

    /// Records that an offered event was stored or refused.
    func answered(_ number: SequenceNumber, _ event: ModelEvent, _ fault: StoreFault?) {
        guard offered.removeValue(forKey: number) != nil else { return expect(false, "\(number) is answered twice") }
        guard fault == nil else {
            if let id = event.id, numbers[id] == number { numbers[id] = nil }
            return
        }
        store(number, event)
    }

    func store(_ number: SequenceNumber, _ event: ModelEvent) {
        stored[number] = event
        stored[number]?.storedAt = now
        for id in event.targets { dispatchers[id]?.unsettled.insert(number) }
    }

    // MARK: Flushes

    func ended(_ name: String, _ answer: FlushAnswer) {
        guard let flush = flushes.removeValue(forKey: name) else { return expect(false, "flush \(name) ends twice") }
        for (id, part) in answer.dispatchers {
            let sum = part.sent + part.failed + part.left
            let covered = flush.covered[id] ?? 0
            expect(flush.isExact ? sum == covered : sum <= covered, "\(name): \(part) of \(covered) for \(id)")
            guard answer.ended == .settled else { continue }
            expect(part.left == 0, "flush \(name) is settled with \(part.left) left")
        }
    }
}

/// Checks of the counters after each turn of the gate.
extension GateModel {
    func checkCounts() {
        for id in ids {
            guard let dispatcher = dispatchers[id] else { continue }
            let summary = bench.summary(of: id)
            let silent = summary.counters[.expired] + summary.counters[.evicted]
            expect(
                summary.counters[.sent] == dispatcher.delivered,
                "\(id): \(summary.counters[.sent]) sent, not \(dispatcher.delivered)")
            expect(
                summary.counters[.dead] == dispatcher.dead,
                "\(id): \(summary.counters[.dead]) dead, not \(dispatcher.dead)")
            expect(summary.inFlight == dispatcher.inFlight.count, "\(id): \(summary.inFlight) in flight")
            expect(silent == 0 || profile.losesSilently, "\(id): \(silent) expired or evicted")
            expect(
                summary.counters[.evicted] == 0 || profile.dropsOldest, "\(id): \(summary.counters[.evicted]) evicted")
            expect(dispatcher.vanished.count <= silent, "\(id): \(dispatcher.vanished) overtaken, not \(silent)")
            let left = dispatcher.unsettled.count - silent
            expect(summary.pending + summary.inFlight == left, "\(id): \(summary.pending) pending, \(left) left")
            checkExpired(summary, dispatcher)
            checkBusy(summary, dispatcher)
        }
        checkLive()
    }

    private func checkExpired(_ summary: DispatcherSummary, _ dispatcher: ModelDispatcher) {
        let due = dispatcher.unsettled.count { isExpired($0) }
        expect(summary.counters[.expired] <= due, "\(dispatcher.id): \(summary.counters[.expired]) expired of \(due)")
        // The periodic sweep must also find events deep in a blocked queue.
        guard now >= startedAt + GateModel.sweepingTime else { return }
        let overdue = dispatcher.unsettled.subtracting(dispatcher.inFlight).count { number in
            isExpired(number, before: GateModel.sweepingTime)
                && stored[number].map { $0.storedAt + GateModel.sweepingTime <= now } ?? false
        }
        let silent = summary.counters[.expired] + summary.counters[.evicted]
        expect(silent >= overdue, "\(dispatcher.id): \(silent) expired or evicted, \(overdue) are overdue")
    }

    /// Checks that a dispatcher that is open and has events to send has a batch in flight. Events that become due at
    /// this very moment may go in the next turn.
    private func checkBusy(_ summary: DispatcherSummary, _ dispatcher: ModelDispatcher) {
        guard !profile.losesSilently, dispatcher.inFlight.isEmpty, dispatcher.waitsUntil < now,
            let first = dispatcher.unsettled.min()
        else { return }
        let isFlushed = flushTarget(of: dispatcher.id) >= first && isOpenForFlush(dispatcher)
        let lingers = dispatcher.lingersUntil >= now && summary.pending < dispatcher.settings.dispatchLimit
        let isOpen = isOpen(dispatcher, pending: summary.pending) && !lingers
        expect(!isFlushed && !isOpen, "\(dispatcher.id): nothing in flight, although \(first) may be sent")
    }

    /// Checks the number of events that the store reports (Behaviour Q4).
    private func checkLive() {
        let live = bench.gate.stored.events
        if profile.losesSilently {
            let most = ids.map { bench.summary(of: $0).pending + bench.summary(of: $0).inFlight }
            expect(live >= most.max() ?? 0 && live <= most.reduce(0, +), "\(live) live events, by dispatcher \(most)")
        } else {
            expect(live == (profile.isOrderly ? liveEvents : liveByRoute), "\(live) live, not \(liveEvents)")
        }
        expect((bench.gate.stored.bytes == 0) == (live == 0), "events and bytes differ: \(bench.gate.stored)")
        guard profile.dropsOldest else { return }
        let inFlight = dispatchers.values.reduce(0) { $0 + $1.inFlight.count }
        expect(live <= bench.limits.maxEvents + inFlight, "\(live) live events are over the limit")
    }

    /// The number of events that at least one dispatcher has not settled.
    var liveEvents: Int {
        dispatchers.values.reduce(into: Set<SequenceNumber>()) { $0.formUnion($1.unsettled) }.count
    }

    /// The number of events that the store reports: for each route, the events left to its slowest dispatcher. With
    /// several batches in flight, dispatchers settle events out of order.
    private var liveByRoute: Int {
        let routes = Set(stored.values.map(\.targets))
        return routes.reduce(0) { sum, route in
            let left = route.map { id in
                dispatchers[id]?.unsettled.count { stored[$0]?.targets == route } ?? 0
            }
            return sum + (left.max() ?? 0)
        }
    }

    /// Checks that nothing is left after all barriers opened, the destinations recovered, and time passed.
    func checkQuiescence() {
        expect(bench.gate.stored == .zero, "\(bench.gate.stored) is left")
        expect(flushes.isEmpty, "flushes \(flushes.keys.sorted()) never end")
        expect(offered.isEmpty, "events \(offered.keys.sorted()) are never answered")
        for id in ids {
            let summary = bench.summary(of: id)
            let dispatcher = dispatchers[id]
            expect(summary.pending == 0 && summary.inFlight == 0, "\(id): \(summary.pending) pending at the end")
            let left = (dispatcher?.unsettled.count ?? 0) - summary.counters[.expired] - summary.counters[.evicted]
            expect(left == 0, "\(id): \(left) lost")
        }
    }

    // MARK: Restarting

    /// Applies a crash and a restart over the state that the store kept.
    func restarted(over state: StoredState) {
        for (number, event) in offered where number <= state.lastSequenceNumber { store(number, event) }
        for (id, number) in numbers where offered[number] != nil && number > state.lastSequenceNumber {
            numbers[id] = nil
        }
        offered = [:]
        flushes = [:]
        startedAt = now
        for id in ids { restart(id, over: state) }
    }

    private func restart(_ id: String, over state: StoredState) {
        guard let dispatcher = dispatchers[id], let kept = state.dispatchers.first(where: { $0.id == id }) else {
            return expect(false, "the store does not know \(id)")
        }
        let left = Set(stored.filter { !kept.settled.contains($0.key) && $0.value.targets.contains(id) }.keys)
        let lost = dispatcher.unsettled.subtracting(left)
        expect(lost.isEmpty || profile.losesSilently, "\(id): \(lost.sorted()) lost by a restart")
        let again = left.subtracting(dispatcher.unsettled)
        expect(again.isEmpty || !isWrittenDown, "\(id): \(again.sorted()) pending again after a restart")
        dispatchers[id]?.restarted(with: left)
        let isKept = state.kept["pause:\(id)"] != nil
        expect(isKept == dispatcher.isPaused || !isWrittenDown, "\(id): a pause is stored: \(isKept)")
        dispatchers[id]?.isPaused = isKept
        dispatchers[id]?.isPauseFlushable = state.kept["pause:\(id)"]?.first == UInt8(ascii: "F")
    }
}
